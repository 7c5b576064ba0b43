package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// place returns the database of a name. Names of four parts are not supported.
func (s *core) place(n *syntax.ObjectName) (*catalog.Database, error) {
	if n.Server() != "" {
		return nil, mserr.NotSupported("the linked server %s", n.Server())
	}
	if catalog.IsGlobalTemp(n.Last()) {
		return s.databaseByID(catalog.DatabaseTemp), nil
	}
	return s.usable(n.Database())
}

// schemas returns the schemas in which a name is looked up: the schema of the name, or else the
// default schema and dbo.
func (r *run) schemas(d *catalog.Database, schema string) []string {
	switch {
	case schema != "":
		return []string{schema}
	case d.ID != r.s.dbID || equalNames(r.f.schema, "dbo"):
		return []string{"dbo"}
	}
	return []string{r.f.schema, "dbo"}
}

// object returns the object with a name and its database, or a nil object. It follows synonyms.
func (r *run) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	const maxSynonyms = 8 // SQL Server forbids synonyms of synonyms; the limit only ends cycles
	for range maxSynonyms {
		d, err := r.s.place(n)
		if err != nil {
			return nil, nil, err
		}
		var found catalog.Object
		for _, schema := range r.schemas(d, n.Schema()) {
			if found = d.Object(schema, n.Last()); found != nil {
				break
			}
		}
		syn, ok := found.(*catalog.Synonym)
		if !ok {
			return found, d, nil
		}
		n = splitName(syn.Base)
	}
	return nil, nil, mserr.InvalidObject(n.String())
}

// splitName parses a name in a string argument of a system procedure. An invalid name becomes the
// name of an object that does not exist.
func splitName(text string) *syntax.ObjectName {
	if n, err := syntax.ParseName(text); err == nil {
		return n
	}
	return &syntax.ObjectName{Parts: []syntax.Ident{{Name: text, Quoted: true}}}
}
