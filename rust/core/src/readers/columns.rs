//! What the columns of a table, or the fields of a line, are for.

/// What a column is for. One without a role is a feature, as its values are: numbers, bools, and
/// texts as indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Label,
    Id,
    /// When it happened; never a feature itself.
    Time,
    /// What it belongs to; never a feature.
    Group,
    Ignore,
    /// Its words are features.
    Text,
    /// An indicator, even if it is written as a number.
    Category,
    /// A number, even if it is written with a unit.
    Number,
    /// Handed over as it is, for whoever looks at a sample.
    Raw,
}

/// What is made of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeFeatures {
    /// The indicator `NAME.hour=H`, of UTC.
    pub hour: bool,
    /// The indicator `NAME.weekday=mon`, of UTC.
    pub weekday: bool,
    /// `NAME.since_last`: seconds since the event before it, of the same group if there are groups.
    pub since_last: bool,
}

/// The roles of all columns that have one.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The field or column that holds the label, if any; svmlight and VW have their own place.
    pub label: Option<String>,
    /// The field or column that holds the event's id, if any; in VW it is the tag.
    pub id: Option<String>,
    pub time: Option<String>,
    pub group: Option<String>,
    pub ignore: Vec<String>,
    pub text: Vec<String>,
    pub category: Vec<String>,
    pub number: Vec<String>,
    pub time_features: TimeFeatures,
    /// How many words in a row are a feature at most; at least 1.
    pub ngrams: usize,
    /// The decimal sign of numbers that are written as texts; none: a comma in one is refused.
    pub decimal: Option<char>,
    /// The units that columns of numbers are in.
    pub units: Vec<(String, String)>,
    /// Whether a column that is named here may be missing.
    pub optional: bool,
    /// Every column is handed over as it is.
    pub raw: bool,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            label: None,
            id: None,
            time: None,
            group: None,
            ignore: Vec::new(),
            text: Vec::new(),
            category: Vec::new(),
            number: Vec::new(),
            time_features: TimeFeatures::default(),
            ngrams: 1,
            decimal: None,
            units: Vec::new(),
            optional: false,
            raw: false,
        }
    }
}

/// A name with its role, if there is one.
fn one(name: Option<&String>, role: Role) -> Option<(&str, Role)> {
    name.map(|name| (name.as_str(), role))
}

impl Columns {
    /// Only a label and an id.
    pub fn new(label: Option<String>, id: Option<String>) -> Self {
        Self { label, id, ..Self::default() }
    }

    /// Every name with a role.
    pub fn roles(&self) -> impl Iterator<Item = (&str, Role)> {
        let singles = [
            one(self.label.as_ref(), Role::Label),
            one(self.id.as_ref(), Role::Id),
            one(self.time.as_ref(), Role::Time),
            one(self.group.as_ref(), Role::Group),
        ];
        let many = [
            (&self.ignore, Role::Ignore),
            (&self.text, Role::Text),
            (&self.category, Role::Category),
            (&self.number, Role::Number),
        ];
        singles.into_iter().flatten().chain(
            many.into_iter()
                .flat_map(|(names, role)| names.iter().map(move |n| (n.as_str(), role))),
        )
    }
}
