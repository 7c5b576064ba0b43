package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/cursor"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// cursorQuery executes the query of a cursor during a request. It implements [cursor.Query].
type cursorQuery struct {
	r *run
	c *boundCursor
}

var _ cursor.Query = cursorQuery{}

// withinCursor calls do in the scope of a cursor's query: the database and the variables as they
// were at the declaration, and the table variables of the declaring frame if that is still active.
func (r cursors) withinCursor(c *boundCursor, do func() error) error {
	outer := r.f
	inner := &frame{
		parent: outer, kind: outer.kind, unit: c.unit, schema: outer.schema, owner: outer.owner,
	}
	for f := outer; f != nil; f = f.parent {
		if f == c.declaredIn {
			declaring := *f
			inner = &declaring
			break
		}
	}
	inner.vars, inner.level, inner.nestLevel, inner.line = c.vars, outer.level, outer.nestLevel, outer.line
	database := r.s.DatabaseID
	r.f, r.s.DatabaseID = inner, c.database
	defer func() { r.f, r.s.DatabaseID = outer, database }()
	return do()
}

// Plan implements [cursor.Query]. The unit caches the plan.
func (q cursorQuery) Plan(step plan.CursorStep, part plan.CursorPart) (p *plan.CursorPlan, err error) {
	r, c := q.r, q.c
	err = cursors{r}.withinCursor(c, func() error {
		key := unit.PlanKey{Node: c.node, Kind: unit.PlanCursor, Step: step, Part: part}
		if found := c.unit.Find(r.s.Session, scope{r}, key); found != nil {
			p = found.(*plan.CursorPlan)
			return nil
		}
		if p, err = r.compiler().Cursor(c.def.Query, c.def.Hints, c.Use(step, part)); err != nil {
			return failure.Compile(err)
		}
		c.unit.Keep(r.s.Session, scope{r}, key, p, &p.Needs)
		return nil
	})
	return p, err
}

// Permit implements [cursor.Query].
func (q cursorQuery) Permit(p *plan.CursorPlan) error { return identities{q.r}.permit(p.Uses) }

// Read implements [cursor.Query].
func (q cursorQuery) Read(p *plan.CursorPlan, at *tree.Run, take func([]types.Value) error) error {
	r := q.r
	return cursors{r}.withinCursor(q.c, func() error {
		now, err := queries{r}.readable(&p.Plan)
		if err != nil {
			return err
		}
		args, err := now.Args(r, at)
		if err != nil {
			return err
		}
		rows, err := r.s.Conn.Query(r.ctx, now.SQL, args)
		if err != nil {
			return err
		}
		return eachRow(rows, take)
	})
}

// eachRow calls take with each row and closes rows.
func eachRow(rows *store.Rows, take func([]types.Value) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := take(rows.Row()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// openCursor executes OPEN.
func (r cursors) openCursor(st *syntax.OpenStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if err := r.s.Parking.Strengthen(r.ctx); err != nil { // rows that are repeated may get other rowids
		return err
	}
	return c.Open(cursorQuery{r.run, c})
}

// fetch executes FETCH.
func (r cursors) fetch(st *syntax.FetchStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if err := c.CheckFetch(st); err != nil {
		return err
	}
	if err := r.s.Parking.Strengthen(r.ctx); err != nil {
		return err
	}
	n := int64(0)
	if st.Offset != nil {
		v, err := r.value(st.Offset, types.BigIntType)
		if err != nil {
			return err
		}
		n, _ = v.(int64)
	}
	row, err := c.Move(cursorQuery{r.run, c}, st.Direction, n)
	switch {
	case err != nil:
		return err
	case len(st.Into) == 0:
		return r.sendFetched(c, row)
	case row == nil:
		return nil // the variables keep their values
	}
	return r.fetchInto(c, st.Into, row)
}

// sendFetched sends the row of a FETCH to the client; nil for no row.
func (r cursors) sendFetched(c *boundCursor, row []types.Value) error {
	if err := r.columns(c.Columns()); err != nil {
		return err
	}
	n := int64(0)
	if row != nil {
		n = 1
		if err := r.out.Row(row); err != nil {
			return err
		}
	}
	return r.done(n, answer.CommandSelect)
}

// fetchInto stores the row of a FETCH in variables.
func (r cursors) fetchInto(c *boundCursor, into []string, row []types.Value) error {
	cols := c.Columns()
	for i, name := range into {
		v := r.f.variable(name)
		if v == nil || v.isCur {
			return failure.Compile(mserr.UndeclaredVariable(name))
		}
		if err := types.CheckImplicit(cols[i].Type, v.typ); err != nil {
			return err
		}
		val, err := r.s.Assign(row[i], cols[i].Type, v.typ)
		if err != nil {
			return err
		}
		if err := declarations(r).store(v, val); err != nil {
			return err
		}
	}
	r.s.RowCount = 1
	return nil
}
