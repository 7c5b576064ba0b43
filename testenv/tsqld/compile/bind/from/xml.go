package from

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

// declareSpaces adds the namespaces of WITH XMLNAMESPACES to the place.
func (b *Binder) declareSpaces(list []*syntax.XMLNamespace) {
	spaces := slices.Clone(b.Place.Spaces)
	for _, n := range list {
		spaces = append(spaces, xquery.Binding{Prefix: n.Prefix.Name, Space: n.URI.Text})
	}
	b.Place.Spaces = spaces
}
