//! The columns of a table: their names and their roles.

use crate::event::quoted;
use crate::readers::columns::Role;
use crate::readers::roles::Roles;

#[derive(Clone, Debug, Default)]
pub struct Header {
    pub names: Vec<String>,
    /// What each of them is for; none: a feature.
    pub roles: Vec<Option<Role>>,
}

impl Header {
    /// Find the columns that have roles. `has` introduces the list of columns in the error that one is
    /// not there.
    pub fn new(names: Vec<String>, roles: &mut Roles, has: &str) -> Result<Self, String> {
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("column {} is in its header twice.", quoted(pair[0])));
        }
        let missing = roles.columns.roles().find(|(name, _)| !names.iter().any(|n| n == name));
        if let Some((name, _)) = missing.filter(|_| !roles.columns.optional) {
            let there: Vec<String> = names.iter().take(10).map(|name| quoted(name)).collect();
            let more = if names.len() > 10 { ", ..." } else { "" };
            let (name, there) = (quoted(name), there.join(", "));
            return Err(format!("there is no column {name}; {has} {there}{more}."));
        }
        let roles = names.iter().map(|name| roles.meet(name)).collect();
        Ok(Self { names, roles })
    }
}
