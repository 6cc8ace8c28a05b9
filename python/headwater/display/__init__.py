"""How results look in a notebook: small tables (`html`) and figures (`plots`)."""
