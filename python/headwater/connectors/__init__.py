"""Workers that take events from a broker: Kafka, MQTT."""
