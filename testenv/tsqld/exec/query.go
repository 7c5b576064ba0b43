package exec

import (
	"context"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// queries executes SELECT.
type queries struct{ *run }

// prepare makes the requirements of a plan available: permissions, databases, locks and system row
// sets. skip tells whether there is an alternative plan for ErrSkipped.
func (r queries) prepare(n *plan.Needs, skip bool) error {
	if err := identities(r).permit(n.Uses); err != nil {
		return err
	}
	if len(n.Databases) > 0 {
		if err := r.s.SnapshotAllowed(n.Databases); err != nil {
			return err
		}
		if err := r.s.ReadPastAllowed(n.ReadPast); err != nil {
			return err
		}
		if err := r.s.beginRead(r.ctx, n, r.f.unit, skip, false); err != nil {
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

// queryPlan returns the cached plan of a query, or compiles the query.
func (r queries) queryPlan(node syntax.Node, q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	key := unit.PlanKey{Node: node, Kind: unit.PlanQuery}
	_, isStmt := node.(*syntax.SelectStmt)
	browse := r.s.Options.Browse && isStmt && !r.inserting && !r.inFunction
	if browse {
		key.Kind = unit.PlanBrowse
	}
	if p := r.f.unit.Find(r.s.Session, scope{r.run}, key); p != nil {
		return p.(*plan.Plan), nil
	}
	compiled := r.compiler().Select
	if browse {
		compiled = r.compiler().Browse
	}
	p, err := compiled(q, hints)
	if err != nil {
		return nil, failure.Compile(err)
	}
	r.f.unit.Keep(r.s.Session, scope{r.run}, key, p, &p.Needs)
	return p, nil
}

// selectStmt executes SELECT as a statement.
func (r queries) selectStmt(st *syntax.SelectStmt) error {
	p, err := r.queryPlan(st, st.Query, st.Hints)
	if err != nil {
		return err
	}
	if (p.Tables || p.Into != nil) && !r.s.Options.FmtOnly {
		if err := transactions(r).startImplicitly(); err != nil {
			return err
		}
	}
	switch {
	case p.Into != nil:
		return r.selectInto(st, p)
	case len(p.Assign) > 0:
		return r.changes.Sequences.Around(&p.Needs, func() error { return r.assign(p) })
	}
	if r.inFunction {
		return mserr.SelectInFunction()
	}
	return r.changes.Sequences.Around(&p.Needs, func() error { return r.sendRows(p) })
}

// readable prepares a plan and returns the plan to run. If the sources with READPAST cannot be read
// now, that is the alternative plan.
func (r queries) readable(p *plan.Plan) (*plan.Plan, error) {
	skip := p.PastPlan != nil && (!r.s.Tran.Begun() || len(p.PastPlan.Databases) == 0)
	err := r.prepare(&p.Needs, skip)
	if errors.Is(err, session.ErrSkipped) {
		p = p.PastPlan
		err = r.prepare(&p.Needs, false)
	}
	return p, err
}

// query executes the SQL of a plan.
func (r queries) query(p *plan.Plan) (*store.Rows, error) {
	p, err := r.readable(p)
	if err != nil {
		return nil, err
	}
	return r.start(p)
}

// start executes the SQL of a plan that readable has returned.
func (r queries) start(p *plan.Plan) (*store.Rows, error) {
	args, err := p.Args(r.run, nil)
	if err != nil {
		return nil, err
	}
	return r.s.Conn.Query(r.ctx, p.SQL, args)
}

// chunkSize is the length of the pieces in which documents of FOR JSON and FOR XML are sent, in
// characters.
const chunkSize = 2033

// sendRows executes a query and sends its rows to the client.
func (r queries) sendRows(p *plan.Plan) error {
	if r.s.Options.FmtOnly {
		if err := r.columns(p.Columns); err != nil {
			return err
		}
		return r.done(0, answer.CommandSelect)
	}
	p, err := r.readable(p)
	if err != nil {
		return err
	}
	more := false
	rows, err := r.start(p)
	if err == nil {
		defer rows.Close()
		more = rows.Next()
		err = rows.Err()
	}
	if err != nil && (session.IsMissingObject(err) || r.ctx.Err() != nil) {
		return err // the statement may be repeated, or its client has gone
	}
	// An error in the first row follows the columns: SELECT 4/0 shows its header before message
	// 8134, and in a TRY block "(0 row(s) affected)" (blog sqlprogrammability of the T-SQL team,
	// "TSQL Try-Catch", 2006-03-30).
	if sent := r.columns(p.Columns); sent != nil || err != nil {
		return errors.Join(err, sent)
	}
	n, limit := int64(0), r.s.Options.RowCount
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
	return r.done(n, answer.CommandSelect)
}

// sendRow sends a row to the client.
func (r queries) sendRow(row []types.Value) error {
	mark := r.s.Meter().Mark()
	if n := session.PayloadSize(row...); n > meter.Small {
		if err := r.s.Meter().Take(encodedSize * n); err != nil {
			return err
		}
	}
	err := r.out.CountedRow(row)
	r.s.Meter().Release(mark)
	return err
}

// encodedSize is the factor between the size of a value and the memory for sending it: UTF-16 text
// in a growing buffer.
const encodedSize = 4

// sendChunks sends a document in pieces. NULL gives no row.
func (r queries) sendChunks(v types.Value) (int64, error) {
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
		if err := r.out.Row([]types.Value{text[:cut]}); err != nil {
			return n, err
		}
		n++
		if text = text[cut:]; text == "" {
			return n, nil
		}
	}
}

// assign executes SELECT @a = .... The variables get the values of the last row. Without rows they
// keep their values.
func (r queries) assign(p *plan.Plan) error {
	rows, err := r.query(p)
	if err != nil {
		return err
	}
	defer rows.Close()
	n, limit := int64(0), r.s.Options.RowCount
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
	return r.assigned(n)
}

// assignRow assigns the values of one row to variables.
func (r queries) assignRow(assign []plan.Assign, row []types.Value) error {
	for i := range assign {
		a := &assign[i]
		v, err := a.Value(r.run, row)
		if err != nil {
			return err
		}
		if x := r.f.variable(a.Variable); x != nil {
			if err := declarations(r).store(x, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectInto executes SELECT ... INTO: it creates the table, then inserts the rows.
func (r queries) selectInto(st *syntax.SelectStmt, p *plan.Plan) error {
	into := p.Into
	t := &catalog.Table{Header: catalog.Header{Name: into.Name, Kind: catalog.KindTable}}
	if d := r.s.DatabaseByID(into.DatabaseID); d != nil {
		t.Exact = d.Names().AreExact()
	}
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
	if into.DatabaseID == 0 {
		return r.selectIntoTemp(st, t, &p.Needs)
	}
	d := r.s.DatabaseByID(into.DatabaseID)
	if d == nil {
		return mserr.NoDatabase(strconv.Itoa(into.DatabaseID))
	}
	if err := r.s.MayCreateTable(d, into.Schema, into.Name); err != nil {
		return err
	}
	if d.Schema(into.Schema) == nil {
		return mserr.NoSuchSchema(into.Schema)
	}
	if d.Taken(into.Schema, into.Name) {
		return mserr.ObjectExists(into.Name)
	}
	var n int64
	err := r.s.Atomic(r.ctx, session.Scope{Databases: append([]int{d.ID}, p.Databases...), Several: true}, func() error {
		t.SchemaID, t.Creator = d.Schema(into.Schema).ID, r.s.CreatorOf(t.Name)
		if err := r.s.Edit(r.ctx, d, func(e *catalog.Edit) error { e.AddTable(t); return nil }); err != nil {
			return err
		}
		dml, err := r.compiler().SelectInto(st.Query, st.Hints, d.ID, t)
		if err != nil {
			return failure.Compile(err)
		}
		n, err = r.changes.Apply(dml, nil)
		return err
	})
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandSelectInto)
}

// selectIntoTemp executes SELECT ... INTO a temporary table.
func (r queries) selectIntoTemp(st *syntax.SelectStmt, t *catalog.Table, needs *plan.Needs) error {
	s := r.s
	if s.Temp(t.Name) != nil && !s.Shadows(t.Name, r.f.outerTemps()) {
		return mserr.ObjectExists(t.Name)
	}
	t, err := declarations(r).shape(st, func() (*catalog.Table, error) {
		t.SQLName, t.Temporary, t.ObjectID = session.LocalName(t.Name, r.f.level), true, session.NewLocalID()
		catalog.Number(t)
		return t, nil
	})
	if err != nil {
		return err
	}
	var n int64
	if len(needs.Databases) > 0 {
		if err := s.beginRead(r.ctx, needs, r.f.unit, false, true); err != nil {
			return err
		}
	}
	err = r.changes.Sequences.Around(needs, func() error {
		return r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error {
			if err := s.CreateTemp(r.ctx, t); err != nil {
				return err
			}
			dml, err := r.compiler().SelectInto(st.Query, st.Hints, 0, t)
			if err != nil {
				return failure.Compile(err)
			}
			if n, err = r.changes.Apply(dml, nil); err != nil && !s.Tran.Begun() {
				s.ForgetTemp(t.Name)
				return errors.Join(err, s.DropLocal(context.WithoutCancel(r.ctx), t))
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandSelectInto)
}
