package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// place finds the database that a name is in. Names of four parts are not supported.
func (r *run) place(n *syntax.ObjectName) (*catalog.Database, error) {
	if n.Server() != "" {
		return nil, mserr.NotSupported("the linked server %s", n.Server())
	}
	return scope{r}.Database(n.Database())
}

// schemas lists where a name is looked up: its own schema, or the default one and dbo.
func (r *run) schemas(d *catalog.Database, schema string) []string {
	switch {
	case schema != "":
		return []string{schema}
	case d.ID != r.s.dbID || equalNames(r.f.schema, "dbo"):
		return []string{"dbo"}
	}
	return []string{r.f.schema, "dbo"}
}

// object finds an object by name, with synonyms followed; nil if there is none.
func (r *run) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	const longestChain = 8 // SQL Server forbids synonyms of synonyms; this only ends cycles
	for range longestChain {
		d, err := r.place(n)
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

// splitName reads a name in a string, as system procedures are given it. A text that is no name is taken for the
// name of an object that does not exist.
func splitName(text string) *syntax.ObjectName {
	if n, err := syntax.ParseName(text); err == nil {
		return n
	}
	return &syntax.ObjectName{Parts: []syntax.Ident{{Name: text, Quoted: true}}}
}
