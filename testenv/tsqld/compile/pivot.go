package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// pivot binds PIVOT: a grouping by the columns that the clause does not name, with one aggregate
// per value.
func (b *binder) pivot(ts *syntax.Pivot, l, outer *level) (fromNode, error) {
	in := &level{parent: outer, agg: &aggregation{allowed: true}}
	f, err := b.tableSource(ts.Source, in, outer)
	if err != nil {
		return nil, err
	}
	spread, err := b.expr(ts.Column, in)
	if err != nil {
		return nil, err
	}
	fn, ok := builtin.Lookup(ts.Aggregate.Name.Last())
	if !ok || fn.Kind != builtin.Aggregate || fn.New == nil || len(ts.Aggregate.Args) != 1 || ts.Aggregate.Star {
		return nil, mserr.NotSupported("PIVOT over %s", ts.Aggregate.Name.Last())
	}
	arg, err := b.expr(ts.Aggregate.Args[0], in)
	if err != nil {
		return nil, err
	}
	q := &query{core: &core{from: f, grouped: true}}
	for _, src := range in.sources {
		for i := range src.cols {
			n, err := src.resolve(i)
			if err != nil {
				return nil, err
			}
			if src.cols[i].hidden || sameNode(n, spread) || mentions(arg, n) {
				continue
			}
			q.core.group = append(q.core.group, n)
			q.add(n, outColumn{name: src.cols[i].name, typ: n.typ, null: n.null, label: n.label})
		}
	}
	for _, v := range ts.Values {
		if err := b.checkItems(q); err != nil {
			return nil, err
		}
		want, err := convertImplicit(constant(v.Name, types.NVarCharOf(types.Units(v.Name))), spread.typ)
		if err != nil {
			return nil, err
		}
		is, err := compare("=", spread, want)
		if err != nil {
			return nil, err
		}
		one := caseOf(arg.typ, []*node{is}, []*node{arg, nullOf(arg.typ)})
		one.null = true
		n, err := makeAggregate(fn, ts.Aggregate, []*node{one})
		if err != nil {
			return nil, err
		}
		q.add(n, outColumn{name: v.Name, typ: n.typ, null: true, label: n.label})
	}
	if q, err = nameColumns(q, ts.Alias.Name, nil); err != nil {
		return nil, err
	}
	src, err := q.rows(b.alias("q"), ts.Alias.Name)
	if err != nil {
		return nil, err
	}
	return src, l.expose(src, true)
}

// mentions reports whether a node contains another.
func mentions(n, part *node) bool {
	found := false
	n.walk(func(x *node) bool {
		found = found || sameNode(x, part)
		return !found
	})
	return found
}

// unpivot binds UNPIVOT: a UNION ALL of the columns, without NULLs.
func (b *binder) unpivot(ts *syntax.Unpivot, l, outer *level) (fromNode, error) {
	in := &level{parent: outer}
	f, err := b.tableSource(ts.Source, in, outer)
	if err != nil {
		return nil, err
	}
	if err := checkElements(len(ts.Columns)); err != nil {
		return nil, err
	}
	var values []*node
	for _, c := range ts.Columns {
		n, err := b.expr(c, in)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 && n.typ != values[0].typ {
			return nil, mserr.New(8167, 16,
				"The type of column \"%s\" conflicts with the type of other columns specified in the UNPIVOT list.",
				c.Column(),
			)
		}
		values = append(values, n)
	}
	var all *query
	for i, v := range values {
		q := &query{core: &core{from: f, where: not(isNull(v))}}
		for _, src := range in.sources {
			for k := range src.cols {
				if err := b.meter.Work(nodeWork + len(values)); err != nil {
					return nil, err
				}
				n, err := src.resolve(k)
				if err != nil {
					return nil, err
				}
				if src.cols[k].hidden || containsSame(values, n) {
					continue
				}
				q.add(n, outColumn{name: src.cols[k].name, typ: n.typ, null: n.null, label: n.label})
			}
		}
		name := ts.Columns[i].Column()
		q.add(v, outColumn{name: ts.Value.Name, typ: v.typ, label: v.label})
		sysname := b.ofDatabase(types.SysName)
		q.add(constant(name, sysname), outColumn{name: ts.Column.Name, typ: sysname})
		if all == nil {
			all = q
		} else if all, err = setOf("UNION ALL", all, q); err != nil {
			return nil, err
		}
	}
	for i, c := range all.cols {
		if err := b.meter.Work(i); err != nil {
			return nil, err
		}
		for _, other := range all.cols[:i] {
			if strings.EqualFold(c.name, other.name) {
				return nil, mserr.DuplicateColumnOf(c.name, ts.Alias.Name)
			}
		}
	}
	src, err := all.rows(b.alias("q"), ts.Alias.Name)
	if err != nil {
		return nil, err
	}
	return src, l.expose(src, true)
}

// containsSame reports whether a node is the same expression as one of others.
func containsSame(nodes []*node, n *node) bool {
	for _, x := range nodes {
		if sameNode(x, n) {
			return true
		}
	}
	return false
}
