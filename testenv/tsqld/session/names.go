package session

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// Place returns the database of a name. Names of four parts are not supported.
func (s *Session) Place(n *syntax.ObjectName) (*catalog.Database, error) {
	if n.Server() != "" {
		return nil, mserr.NotSupported("the linked server %s", n.Server())
	}
	if catalog.IsGlobalTemp(n.Last()) {
		return s.DatabaseByID(catalog.DatabaseTemp), nil
	}
	return s.Usable(n.Database())
}

// SplitName parses a name in a string argument of a system procedure. An invalid name becomes the
// name of an object that does not exist.
func SplitName(text string) *syntax.ObjectName {
	if n, err := parser.ParseName(text); err == nil {
		return n
	}
	return &syntax.ObjectName{Parts: []syntax.Ident{{Name: text, Quoted: true}}}
}

// Schemas returns the schemas of d in which a name is looked up: the schema of the name, or else
// own, the default schema of the activation, and dbo.
func (s *Session) Schemas(d *catalog.Database, own, schema string) []string {
	switch {
	case schema != "":
		return []string{schema}
	case d.ID != s.DatabaseID || catalog.EqualNames(own, "dbo"):
		return []string{"dbo"}
	}
	return []string{own, "dbo"}
}

// Object returns the object with a name and its database, or a nil object. It follows synonyms. own
// is the default schema of the activation. Errors: 208 for a cycle of synonyms, and those of Place.
func (s *Session) Object(n *syntax.ObjectName, own string) (catalog.Object, *catalog.Database, error) {
	const maxSynonyms = 8 // SQL Server forbids synonyms of synonyms; the limit only ends cycles
	for range maxSynonyms {
		d, err := s.Place(n)
		if err != nil {
			return nil, nil, err
		}
		var found catalog.Object
		for _, schema := range s.Schemas(d, own, n.Schema()) {
			if found = d.Object(schema, n.Last()); found != nil {
				break
			}
		}
		syn, ok := found.(*catalog.Synonym)
		if !ok {
			return found, d, nil
		}
		n = SplitName(syn.Base)
	}
	return nil, nil, mserr.InvalidObject(n.String())
}
