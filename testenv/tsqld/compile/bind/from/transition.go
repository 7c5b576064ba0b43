package from

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// transitionSource returns inserted or deleted as a source. Error 311 for text, ntext and image
// columns, which only INSTEAD OF triggers can read.
func (b *Binder) transitionSource(t *catalog.Table) *tree.Source {
	src := b.tableOf(nil, t)
	for i := range src.Columns {
		if src.Columns[i].Type.IsLOB() && b.Scope.FiringInstead() == 0 {
			src.Columns[i].Expand = func() (*tree.Node, error) { return nil, mserr.TransitionLOB() }
		}
	}
	return src
}
