package from

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// pivot binds PIVOT: a grouping by the columns that the clause does not name, with one aggregate
// per value.
func (b *Binder) pivot(ts *syntax.Pivot, l, outer *names.Level) (tree.From, error) {
	in := &names.Level{Parent: outer, Agg: &names.Aggregation{Allowed: true}}
	f, err := b.TableSource(ts.Source, in, outer)
	if err != nil {
		return nil, err
	}
	spread, err := b.Expr(ts.Column, in)
	if err != nil {
		return nil, err
	}
	fn, ok := builtin.Lookup(ts.Aggregate.Name.Last())
	if !ok || fn.Kind != builtin.Aggregate || strings.HasPrefix(fn.Name, "GROUPING") || len(ts.Aggregate.Args) != 1 || ts.Aggregate.Star {
		return nil, mserr.NotSupported("PIVOT over %s", ts.Aggregate.Name.Last())
	}
	arg, err := b.Expr(ts.Aggregate.Args[0], in)
	if err != nil {
		return nil, err
	}
	q := &tree.Query{Core: &tree.Core{From: f, Grouped: true}}
	for _, src := range in.Sources {
		for i := range src.Columns {
			n, err := src.Resolve(i)
			if err != nil {
				return nil, err
			}
			if src.Columns[i].Hidden || tree.SameNode(n, spread) || mentions(arg, n) {
				continue
			}
			q.Core.Group = append(q.Core.Group, n)
			q.Add(n, tree.ResultColumn{Name: src.Columns[i].Name, Type: n.Type, Null: n.Null, Label: n.Label})
		}
	}
	for _, v := range ts.Values {
		if err := b.CheckItems(q); err != nil {
			return nil, err
		}
		want, err := expr.ConvertImplicit(tree.Constant(v.Name, types.NVarCharOf(types.Units(v.Name))), spread.Type)
		if err != nil {
			return nil, err
		}
		is, err := expr.Compare("=", spread, want)
		if err != nil {
			return nil, err
		}
		one := expr.CaseOf(arg.Type, []*tree.Node{is}, []*tree.Node{arg, tree.NullOf(arg.Type)})
		one.Null = true
		n, err := scalar.MakeAggregate(fn, ts.Aggregate, []*tree.Node{one})
		if err != nil {
			return nil, err
		}
		q.Add(n, tree.ResultColumn{Name: v.Name, Type: n.Type, Null: true, Label: n.Label})
	}
	if q, err = b.NameColumns(q, ts.Alias.Name, nil); err != nil {
		return nil, err
	}
	src := q.Source(b.Alias("q"), ts.Alias.Name)
	src.Names = b.Names()
	return src, l.Expose(src, true)
}

// mentions reports whether a node contains another.
func mentions(n, part *tree.Node) bool {
	found := false
	n.Walk(func(x *tree.Node) bool {
		found = found || tree.SameNode(x, part)
		return !found
	})
	return found
}

// unpivot binds UNPIVOT: a UNION ALL of the columns, without NULLs.
func (b *Binder) unpivot(ts *syntax.Unpivot, l, outer *names.Level) (tree.From, error) {
	in := &names.Level{Parent: outer}
	f, err := b.TableSource(ts.Source, in, outer)
	if err != nil {
		return nil, err
	}
	if err := names.CheckElements(len(ts.Columns)); err != nil {
		return nil, err
	}
	var values []*tree.Node
	for _, c := range ts.Columns {
		n, err := b.Expr(c, in)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 && n.Type != values[0].Type {
			return nil, mserr.Of(8167, c.Column())
		}
		values = append(values, n)
	}
	var all *tree.Query
	for i, v := range values {
		q := &tree.Query{Core: &tree.Core{From: f, Where: tree.Not(tree.IsNull(v))}}
		for _, src := range in.Sources {
			for k := range src.Columns {
				if err := b.Meter.Work(names.NodeWork + len(values)); err != nil {
					return nil, err
				}
				n, err := src.Resolve(k)
				if err != nil {
					return nil, err
				}
				if src.Columns[k].Hidden || containsSame(values, n) {
					continue
				}
				q.Add(n, tree.ResultColumn{Name: src.Columns[k].Name, Type: n.Type, Null: n.Null, Label: n.Label})
			}
		}
		name := ts.Columns[i].Column()
		q.Add(v, tree.ResultColumn{Name: ts.Value.Name, Type: v.Type, Label: v.Label})
		sysname := b.OfDatabase(types.SysName)
		q.Add(tree.Constant(name, sysname), tree.ResultColumn{Name: ts.Column.Name, Type: sysname})
		if all == nil {
			all = q
		} else if all, err = expr.SetOf("UNION ALL", all, q); err != nil {
			return nil, err
		}
	}
	for i, c := range all.Columns {
		if err := b.Meter.Work(i); err != nil {
			return nil, err
		}
		for _, other := range all.Columns[:i] {
			if b.Names().Equal(c.Name, other.Name) {
				return nil, mserr.DuplicateColumnOf(c.Name, ts.Alias.Name)
			}
		}
	}
	src := all.Source(b.Alias("q"), ts.Alias.Name)
	src.Names = b.Names()
	return src, l.Expose(src, true)
}

// containsSame reports whether a node is the same expression as one of others.
func containsSame(nodes []*tree.Node, n *tree.Node) bool {
	for _, x := range nodes {
		if tree.SameNode(x, n) {
			return true
		}
	}
	return false
}
