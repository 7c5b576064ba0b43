package exec

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// prepare puts in place what a plan needs: permissions, system row sets, attached databases, and under an
// open SQLite transaction or with locks the writer locks. skip says that there is a plan for errSkipped.
func (r *run) prepare(n *compile.Needs, skip bool) error {
	if err := r.permit(n.Uses); err != nil {
		return err
	}
	if len(n.Databases) > 0 {
		if err := r.s.snapshotAllowed(n.Databases); err != nil {
			return err
		}
		if err := r.s.reading(r.ctx, n, r.f.unit, skip, false); err != nil {
			return err
		}
	}
	for i := range n.System {
		if err := r.materialize(&n.System[i]); err != nil {
			return err
		}
	}
	return nil
}

// queryPlan compiles a query, or finds its plan.
func (r *run) queryPlan(node syntax.Node, q *syntax.Query, hints []*syntax.Option) (*compile.Plan, error) {
	key := planKey{node: node, kind: planQuery}
	_, alone := node.(*syntax.SelectStmt)
	browse := r.s.opts.browse && alone && !r.inserting && !r.inFunction
	if browse {
		key.kind = planBrowse
	}
	if p := r.f.unit.find(r, key); p != nil {
		return p.(*compile.Plan), nil
	}
	compiled := r.compiler().Select
	if browse {
		compiled = r.compiler().Browse
	}
	p, err := compiled(q, hints)
	if err != nil {
		return nil, compileFailure(err)
	}
	r.f.unit.keep(r, key, p, &p.Needs)
	return p, nil
}

// selectStmt is SELECT as a statement.
func (r *run) selectStmt(st *syntax.SelectStmt) error {
	p, err := r.queryPlan(st, st.Query, st.Hints)
	if err != nil {
		return err
	}
	switch {
	case p.Into != nil:
		return r.selectInto(st, p)
	case len(p.Assign) > 0:
		return r.drawing(&p.Needs, func() error { return r.assign(p) })
	}
	if r.inFunction {
		return mserr.SelectInFunction()
	}
	if r.s.opts.implicitTransactions && r.s.tran.level == 0 && len(p.Databases) > 0 {
		r.s.start("")
		if err := r.announce(EnvBeginTran); err != nil {
			return err
		}
	}
	return r.drawing(&p.Needs, func() error { return r.sendRows(p) })
}

// drawing runs a statement that changes nothing but temporary tables. What draws from sequences writes to their databases, so that
// SQLite's transaction must be open before it starts.
func (r *run) drawing(n *compile.Needs, do func() error) error {
	if n.Sequences {
		return r.atomic(n.Databases, false, do)
	}
	return do()
}

// readable prepares a plan. What it answers is the plan to run: that for when the sources with READPAST cannot be read, where they cannot.
func (r *run) readable(p *compile.Plan) (*compile.Plan, error) {
	skip := p.PastPlan != nil && (!r.s.tran.begun || len(p.PastPlan.Databases) == 0)
	err := r.prepare(&p.Needs, skip)
	if errors.Is(err, errSkipped) {
		p = p.PastPlan
		err = r.prepare(&p.Needs, false)
	}
	return p, err
}

// query runs a plan's SQL.
func (r *run) query(p *compile.Plan) (*store.Rows, error) {
	p, err := r.readable(p)
	if err != nil {
		return nil, err
	}
	args, err := p.Args(r, nil)
	if err != nil {
		return nil, err
	}
	return r.s.conn.Query(r.ctx, p.SQL, args)
}

// chunkSize is the length in which FOR JSON and FOR XML documents are sent, in characters.
const chunkSize = 2033

// sendRows runs a query and sends its rows to the client.
func (r *run) sendRows(p *compile.Plan) error {
	if r.s.opts.fmtOnly {
		if err := r.columns(p.Columns); err != nil {
			return err
		}
		return r.done(0, CommandSelect)
	}
	rows, err := r.query(p)
	if err != nil {
		return err
	}
	defer rows.Close()
	// The first row is computed before the columns are sent, so that an error in it leaves no empty result set behind.
	more := rows.Next()
	if !more && rows.Err() != nil {
		return rows.Err()
	}
	if err := r.columns(p.Columns); err != nil {
		return err
	}
	n, limit := int64(0), r.s.opts.rowCount
	for ; more; more = rows.Next() {
		if limit > 0 && n >= limit {
			break
		}
		if p.Chunks {
			k, err := r.sendChunks(rows.Row()[0])
			if err != nil {
				return err
			}
			n += k
			continue
		}
		if err := r.sendRow(rows.Row()); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return r.done(n, CommandSelect)
}

// sendRow sends a row to the client.
func (r *run) sendRow(row []types.Value) error {
	mark := r.s.meter.Mark()
	if n := weight(row...); n > meter.Small {
		if err := r.s.meter.Take(encodedSize * n); err != nil {
			return err
		}
	}
	err := gone(r.out.Row(row))
	r.s.meter.Release(mark)
	return err
}

// encodedSize is how much more a value takes on its way to the client: as UTF-16, and in a buffer that has grown.
const encodedSize = 4

// sendChunks sends a document in pieces; NULL is no row.
func (r *run) sendChunks(v types.Value) (int64, error) {
	text, ok := v.(string)
	if !ok {
		return 0, nil
	}
	n := int64(0)
	for {
		cut := 0
		for i := 0; i < chunkSize && cut < len(text); i++ {
			_, size := utf8.DecodeRuneInString(text[cut:])
			cut += size
		}
		if err := gone(r.out.Row([]types.Value{text[:cut]})); err != nil {
			return n, err
		}
		n++
		if text = text[cut:]; text == "" {
			return n, nil
		}
	}
}

// assign is SELECT @a = ...: the last row wins, and no row leaves the variables alone.
func (r *run) assign(p *compile.Plan) error {
	rows, err := r.query(p)
	if err != nil {
		return err
	}
	defer rows.Close()
	n, limit := int64(0), r.s.opts.rowCount
	for rows.Next() {
		if limit > 0 && n >= limit {
			break
		}
		if err := r.assignRow(p.Assign, rows.Row()); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	r.s.rowCount = n
	return nil
}

// assignRow assigns variables from one row.
func (r *run) assignRow(assign []compile.Assign, row []types.Value) error {
	for i := range assign {
		a := &assign[i]
		v, err := a.Value(r, row)
		if err != nil {
			return err
		}
		if x := r.f.variable(a.Variable); x != nil {
			if err := r.store(x, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectInto is SELECT ... INTO: it makes the table, then inserts.
func (r *run) selectInto(st *syntax.SelectStmt, p *compile.Plan) error {
	into := p.Into
	t := &catalog.Table{Header: catalog.Header{Name: into.Name, Kind: catalog.KindTable}}
	for i, c := range p.Columns {
		if c.Name == "" {
			return mserr.MissingName()
		}
		col := &catalog.Column{Column: c}
		if col.Type.ID == types.Null {
			col.Type = types.IntType
		}
		if col.Type.IsCharacter() {
			col.Collation = catalog.DefaultCollation
		}
		col.Computed, col.Origin = false, nil
		col.Column.Identity = false
		if into.Identity != nil && into.Identity[i] != nil {
			col.Auto, col.Column.Identity = into.Identity[i], true
		}
		if t.Column(c.Name) != nil {
			return mserr.DuplicateColumn(c.Name, into.Name)
		}
		if i >= mserr.MostColumns {
			return mserr.TooManyColumns(c.Name, into.Name)
		}
		t.Columns = append(t.Columns, col)
	}
	if into.Database == nil {
		return r.selectIntoTemp(st, t, &p.Needs)
	}
	d := into.Database
	if err := r.mayCreate(d, "CREATE TABLE", into.Schema); err != nil {
		return err
	}
	if d.Schema(into.Schema) == nil {
		return mserr.NoSuchSchema(into.Schema)
	}
	if d.Taken(into.Schema, into.Name) {
		return mserr.ObjectExists(into.Name)
	}
	var n int64
	err := r.atomic(append([]int{d.ID}, p.Databases...), true, func() error {
		t.SchemaID = d.Schema(into.Schema).ID
		if err := r.edit(d, func(e *catalog.Edit) error { e.AddTable(t); return nil }); err != nil {
			return err
		}
		dml, err := r.compiler().SelectInto(st.Query, st.Hints, d.ID, t)
		if err != nil {
			return compileFailure(err)
		}
		n, err = r.apply(dml, nil)
		return err
	})
	if err != nil {
		return err
	}
	return r.done(n, CommandSelectInto)
}

// selectIntoTemp is SELECT ... INTO a temporary table.
func (r *run) selectIntoTemp(st *syntax.SelectStmt, t *catalog.Table, needs *compile.Needs) error {
	s := r.s
	if s.temps[catalog.Fold(t.Name)] != nil && !r.shadows(t.Name) {
		return mserr.ObjectExists(t.Name)
	}
	t, err := r.shape(st, func() (*catalog.Table, error) {
		t.SQLName, t.Temporary, t.ObjectID = localName(t.Name, r.f.level), true, newLocalID()
		catalog.Number(t)
		return t, nil
	})
	if err != nil {
		return err
	}
	var n int64
	if len(needs.Databases) > 0 {
		if err := s.reading(r.ctx, needs, r.f.unit, false, true); err != nil {
			return err
		}
	}
	err = r.drawing(needs, func() error {
		return r.localChange(func() error {
			if err := s.createTemp(r.ctx, t); err != nil {
				return err
			}
			dml, err := r.compiler().SelectInto(st.Query, st.Hints, 0, t)
			if err != nil {
				return compileFailure(err)
			}
			if n, err = r.apply(dml, nil); err != nil && !s.tran.begun {
				s.temps = s.temps.without(t.Name)
				return errors.Join(err, s.dropLocal(context.WithoutCancel(r.ctx), t))
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.done(n, CommandSelectInto)
}

// shadows reports whether the visible temporary table of a name belongs to a caller, so that this activation may
// make one of its own.
func (r *run) shadows(name string) bool {
	key := catalog.Fold(name)
	t := r.s.temps[key]
	return t != nil && r.f.kind != batchFrame && r.f.temps[key] == t
}
