package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// object returns the object with a name in the current activation, and its database, or a nil
// object.
func (r *run) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	return r.s.Object(n, r.f.schema)
}
