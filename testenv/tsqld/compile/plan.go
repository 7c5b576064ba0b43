package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// assign prepares SELECT @a = ...: the query computes the operands that do not depend on the
// assigned variables, and [plan.Assign.Value] computes the rest from each row. Each row therefore
// sees the assignments of the rows before it.
func assign(p *plan.Plan, q *tree.Query, assigned []bind.Assignment) *tree.Query {
	names := map[string]bool{}
	for _, a := range assigned {
		names[catalog.Fold(a.Variable)] = true
	}
	r := *q
	c := *q.Core
	r.Core, c.Items, r.Columns = &c, nil, nil
	if c.Distinct {
		// DISTINCT compares whole rows, so the query has to compute all items.
		names = nil
		c.Items = q.Core.Items
		r.Columns = q.Columns
		for i, a := range assigned {
			p.Assign = append(
				p.Assign,
				plan.Assign{Variable: a.Variable, Type: a.N.Type, Node: &tree.Node{Op: tree.OpField, Type: a.N.Type, Column: i}},
			)
		}
		return &r
	}
	for _, a := range assigned {
		n := a.N.Replace(func(x *tree.Node) *tree.Node {
			if x.ReadsAny(names) && x.Query == nil && x.Aggregate == nil {
				return nil
			}
			if x.Op == tree.OpConst || x.Op == tree.OpVar {
				return x
			}
			for i, item := range c.Items {
				if tree.SameNode(item, x) {
					return &tree.Node{Op: tree.OpField, Type: x.Type, Column: i}
				}
			}
			c.Items = append(c.Items, x)
			r.Columns = append(r.Columns, tree.ResultColumn{Type: x.Type})
			return &tree.Node{Op: tree.OpField, Type: x.Type, Column: len(c.Items) - 1}
		})
		p.Assign = append(p.Assign, plan.Assign{Variable: a.Variable, Type: a.N.Type, Node: n})
	}
	if len(c.Items) == 0 { // the query must still return one row per assignment
		c.Items = append(c.Items, tree.Constant(int64(1), types.IntType))
		r.Columns = append(r.Columns, tree.ResultColumn{Type: types.IntType})
	}
	return &r
}
