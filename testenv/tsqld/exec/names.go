package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// schemas returns the schemas in which a name is looked up: the schema of the name, or else the
// default schema and dbo.
func (r *run) schemas(d *catalog.Database, schema string) []string {
	switch {
	case schema != "":
		return []string{schema}
	case d.ID != r.s.DatabaseID || session.EqualNames(r.f.schema, "dbo"):
		return []string{"dbo"}
	}
	return []string{r.f.schema, "dbo"}
}

// object returns the object with a name and its database, or a nil object. It follows synonyms.
func (r *run) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	const maxSynonyms = 8 // SQL Server forbids synonyms of synonyms; the limit only ends cycles
	for range maxSynonyms {
		d, err := r.s.Place(n)
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
		n = session.SplitName(syn.Base)
	}
	return nil, nil, mserr.InvalidObject(n.String())
}
