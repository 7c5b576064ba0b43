package catalog

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Names is the rule by which the names in a database are compared: its collation distinguishes the
// case of letters, or ignores it ("Database identifiers"). The zero value ignores it, as the
// server's collation does for the names of databases, logins and variables.
type Names struct{ exact bool }

// NamesOf returns the rule of a database with a collation. An unknown collation ignores case.
func NamesOf(collation string) Names {
	c, ok := types.CollationByName(collation)
	return Names{exact: ok && !c.IgnoresCase()}
}

// Fold returns the lookup key of a name.
func (n Names) Fold(name string) string {
	if n.exact {
		return name
	}
	return Fold(name)
}

// Equal reports whether two names are equal.
func (n Names) Equal(a, b string) bool { return a == b || !n.exact && Fold(a) == Fold(b) }

// AreExact reports whether names that differ in case differ.
func (n Names) AreExact() bool { return n.exact }

// Names returns the rule for the names of the database's objects, columns and principals; for nil
// the zero value.
func (d *Database) Names() Names {
	if d == nil {
		return Names{}
	}
	return d.names
}

// Collation returns the database's default collation; for nil the server's.
func (d *Database) Collation() types.Collation {
	if d == nil {
		return types.CI
	}
	c, _ := types.CollationByName(d.Options.Collation) // CI for ""
	return c
}

// setNames derives the rule from the collation, and makes the maps of names follow it. It must be
// called after the options have been set.
func (d *Database) setNames() {
	before := d.names
	if d.names = NamesOf(d.Options.Collation); d.names == before {
		return
	}
	d.Principals.names = d.names
	schemas, objects, aliases := d.schemas, d.objects, d.aliases
	d.schemas, d.aliases = map[string]*Schema{}, map[objectKey]*AliasType{}
	d.objects, d.byName = map[int32]Object{}, map[objectKey]Object{}
	d.constraints, d.conByName = map[int32]Constraint{}, map[objectKey]Constraint{}
	for _, s := range schemas {
		d.schemas[d.names.Fold(s.Name)] = s
	}
	for _, a := range aliases {
		d.aliases[objectKey{a.SchemaID, d.names.Fold(a.Name)}] = a
	}
	for _, o := range objects {
		d.link(o)
	}
}
