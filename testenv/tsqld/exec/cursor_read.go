package exec

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Values of @@FETCH_STATUS.
const (
	fetchFound   = 0
	fetchOutside = -1 // there is no such row
	fetchMissing = -2 // the row does not exist any longer
)

// withinCursor calls do in the scope of a cursor's query: the database and the variables as they
// were at the declaration, and the table variables of the declaring frame if that is still active.
func (r *run) withinCursor(c *cursor, do func() error) error {
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

// cursorPlan returns the plan of a step of a cursor.
func (r *run) cursorPlan(c *cursor, step compile.CursorStep) (*compile.CursorPlan, error) {
	return r.partPlan(c, step, compile.CursorWhole)
}

// partPlan is cursorPlan for some of the rows.
func (r *run) partPlan(c *cursor, step compile.CursorStep, part compile.CursorPart) (p *compile.CursorPlan, err error) {
	err = r.withinCursor(c, func() error {
		key := planKey{node: c.node, kind: planCursor, step: step, part: part}
		if found := c.unit.find(r, key); found != nil {
			p = found.(*compile.CursorPlan)
			return nil
		}
		use := compile.CursorUse{
			Kind: requestedKind(c.def), Step: step, Part: part, Columns: c.def.UpdateColumns,
			Locks: c.def.Concurrency == "SCROLL_LOCKS",
		}
		if p, err = r.compiler().Cursor(c.def.Query, c.def.Hints, use); err != nil {
			return failure.Compile(err)
		}
		c.unit.keep(r, key, p, &p.Needs)
		return nil
	})
	return p, err
}

// readCursor runs a step of a cursor and calls take with each row.
func (r *run) readCursor(c *cursor, p *compile.CursorPlan, at *compile.Run, take func([]types.Value) error) error {
	return r.withinCursor(c, func() error {
		plan, err := r.readable(&p.Plan)
		if err != nil {
			return err
		}
		args, err := plan.Args(r, at)
		if err != nil {
			return err
		}
		rows, err := r.s.Conn.Query(r.ctx, plan.SQL, args)
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
func (r *run) openCursor(st *syntax.OpenStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if c.open {
		return mserr.CursorOpen()
	}
	p, err := r.cursorPlan(c, compile.CursorOpen)
	if err != nil {
		return err
	}
	if p.Kind != c.kind { // an index has been created or dropped since the declaration
		return mserr.CursorSchemaChanged()
	}
	r.s.clearRows(c)
	if c.kind != compile.CursorDynamic {
		err = r.readCursor(c, p, nil, func(row []types.Value) error { return r.s.keepRow(c, row[c.keptFrom(p):]) })
	} else {
		err = r.permit(p.Uses)
	}
	if err != nil {
		r.s.clearRows(c)
		return err
	}
	c.cols, c.tables, c.pos, c.open, c.gone = p.Columns, p.Tables, 0, true, false
	c.parts, c.down = p.Parts, p.Down
	r.s.CursorRows = len(c.rows)
	if c.kind == compile.CursorDynamic {
		r.s.CursorRows = -1
	}
	return r.s.setPlace(c, nil)
}

// keptFrom returns the index of the first value of a row that a cursor keeps.
func (c *cursor) keptFrom(p *compile.CursorPlan) int {
	if c.kind == compile.CursorKeyset {
		return len(p.Columns)
	}
	return 0
}

// keepRow appends a row to those of a cursor.
func (s *Session) keepRow(c *cursor, row []types.Value) error {
	n := int64(session.RowOverhead + len(row)*session.ValueOverhead + session.PayloadSize(row...))
	if err := s.Meter().Hold(n); err != nil {
		return err
	}
	c.size += n
	c.rows = append(c.rows, slices.Clone(row))
	return nil
}

// setPlace makes a copy of place that of the current row; nil for none.
func (s *Session) setPlace(c *cursor, place []types.Value) error {
	n := int64(session.PayloadSize(place...) - session.PayloadSize(c.place...))
	if err := s.Meter().Hold(max(n, 0)); err != nil {
		return err
	}
	s.Meter().Drop(max(-n, 0))
	c.kept += n
	c.place = slices.Clone(place)
	return nil
}

// fetchNames are the names of the directions in messages.
var fetchNames = map[syntax.FetchDirection][2]string{
	syntax.FetchNext: {"next", "Next"}, syntax.FetchPrior: {"prior", "Prior"},
	syntax.FetchFirst: {"first", "First"}, syntax.FetchLast: {"last", "Last"},
	syntax.FetchAbsolute: {"absolute", "Absolute"}, syntax.FetchRelative: {"relative", "Relative"},
}

// fetch executes FETCH.
func (r *run) fetch(st *syntax.FetchStmt) error {
	s := r.s
	s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	switch {
	case err != nil:
		return err
	case !c.open:
		return mserr.CursorNotOpen()
	case st.Direction == syntax.FetchAbsolute && c.kind == compile.CursorDynamic:
		return mserr.FetchTypeDynamic(fetchNames[st.Direction][1])
	case st.Direction != syntax.FetchNext && !c.scroll:
		return mserr.FetchType(fetchNames[st.Direction][0])
	case len(st.Into) > 0 && len(st.Into) != len(c.cols):
		return mserr.FetchVariables()
	}
	n := int64(0)
	if st.Offset != nil {
		v, err := r.value(st.Offset, types.BigIntType)
		if err != nil {
			return err
		}
		n, _ = v.(int64)
	}
	move := r.moveTo
	if c.kind == compile.CursorDynamic {
		move = r.stepTo
	}
	row, err := move(c, st.Direction, n)
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
func (r *run) sendFetched(c *cursor, row []types.Value) error {
	if err := r.columns(c.cols); err != nil {
		return err
	}
	n := int64(0)
	if row != nil {
		n = 1
		if err := sinkFailure(r.out.Row(row)); err != nil {
			return err
		}
	}
	return r.done(n, CommandSelect)
}

// fetchInto stores the row of a FETCH in variables.
func (r *run) fetchInto(c *cursor, into []string, row []types.Value) error {
	for i, name := range into {
		v := r.f.variable(name)
		if v == nil || v.isCur {
			return failure.Compile(mserr.UndeclaredVariable(name))
		}
		if err := types.CheckImplicit(c.cols[i].Type, v.typ); err != nil {
			return err
		}
		val, err := r.s.Assign(row[i], c.cols[i].Type, v.typ)
		if err != nil {
			return err
		}
		if err := r.store(v, val); err != nil {
			return err
		}
	}
	r.s.RowCount = 1
	return nil
}

// moveTo moves a static or keyset cursor and returns the row; nil if there is none.
func (r *run) moveTo(c *cursor, direction syntax.FetchDirection, n int64) ([]types.Value, error) {
	pos, end := int64(c.pos), int64(len(c.rows))+1
	switch direction {
	case syntax.FetchNext:
		pos++
	case syntax.FetchPrior:
		pos--
	case syntax.FetchFirst:
		pos = 1
	case syntax.FetchLast:
		pos = end - 1
	case syntax.FetchAbsolute:
		if pos = n; n < 0 {
			pos = max(end+n, 0)
		}
	case syntax.FetchRelative:
		if pos = min(max(n, -end), end) + pos; n == 0 {
			pos = int64(c.pos)
		}
	}
	c.pos = int(min(max(pos, 0), end))
	if c.pos == 0 || c.pos == int(end) {
		c.gone, r.s.FetchStatus = false, fetchOutside
		return nil, r.s.setPlace(c, nil)
	}
	if c.kind == compile.CursorStatic {
		r.s.FetchStatus = fetchFound
		return c.rows[c.pos-1], nil
	}
	return r.readRow(c, compile.CursorCurrent, &compile.Run{Row: c.rows[c.pos-1]})
}

// readRow reads a row of a keyset or dynamic cursor, which becomes the current row. It returns nil
// if the row does not exist.
func (r *run) readRow(c *cursor, step compile.CursorStep, at *compile.Run) ([]types.Value, error) {
	row, err := r.findRow(c, step, at)
	if err != nil {
		return nil, err
	}
	place := at.Row
	r.s.FetchStatus, c.gone = fetchMissing, true
	if row != nil {
		place = row[len(c.cols):]
		row = row[:len(c.cols)]
		r.s.FetchStatus, c.gone = fetchFound, false
	}
	return row, r.s.setPlace(c, place)
}

// findRow reads the row of a step with its place; nil if there is none.
func (r *run) findRow(c *cursor, step compile.CursorStep, at *compile.Run) (row []types.Value, err error) {
	for _, part := range c.partsOf(step, at) {
		p, err := r.partPlan(c, step, part)
		if err != nil {
			return nil, err
		}
		if p.Kind != c.kind {
			return nil, mserr.CursorSchemaChanged()
		}
		err = r.readCursor(c, p, at, func(found []types.Value) error {
			if row == nil { // an outer join may give several rows
				row = slices.Clone(found)
			}
			return nil
		})
		if err != nil || row != nil {
			return row, err
		}
	}
	return nil, nil
}

// partsOf returns the parts of the rows to search for the next or prior row, in order.
func (c *cursor) partsOf(step compile.CursorStep, at *compile.Run) []compile.CursorPart {
	if !c.parts || at.Skip > 0 || step != compile.CursorNext && step != compile.CursorPrior {
		return []compile.CursorPart{compile.CursorWhole}
	}
	down := c.down != (step == compile.CursorPrior)
	switch {
	case at.Row[0] == nil && down:
		return []compile.CursorPart{compile.CursorNulls}
	case at.Row[0] == nil:
		return []compile.CursorPart{compile.CursorNulls, compile.CursorAllValues}
	case down:
		return []compile.CursorPart{compile.CursorValues, compile.CursorAllNulls}
	}
	return []compile.CursorPart{compile.CursorValues}
}

// stepTo moves a dynamic cursor and returns the row; nil if there is none. The position is that of
// c.pos: 0 before the first row, 1 at the row of c.place, 2 after the last row.
func (r *run) stepTo(c *cursor, direction syntax.FetchDirection, n int64) ([]types.Value, error) {
	step, skip := compile.CursorCurrent, int64(0)
	switch direction {
	case syntax.FetchFirst:
		step = compile.CursorFirst
	case syntax.FetchLast:
		step = compile.CursorLast
	case syntax.FetchNext:
		step = c.forward()
	case syntax.FetchPrior:
		step = c.backward()
	case syntax.FetchRelative:
		switch {
		case n > 0:
			step, skip = c.forward(), n-1
		case n < 0:
			step, skip = c.backward(), -1-n
		}
	}
	if step == compile.CursorOpen || step == compile.CursorCurrent && c.pos != 1 {
		r.s.FetchStatus = fetchOutside
		return nil, nil
	}
	row, err := r.readRow(c, step, &compile.Run{Row: c.place, Skip: skip})
	if err != nil {
		return nil, err
	}
	if row != nil {
		c.pos = 1
		return row, nil
	}
	if step == compile.CursorCurrent {
		return nil, nil
	}
	r.s.FetchStatus, c.gone = fetchOutside, false
	c.pos = 0
	if step == compile.CursorFirst || step == compile.CursorNext {
		c.pos = 2
	}
	return nil, r.s.setPlace(c, nil)
}

// forward returns the step to later rows, or CursorOpen if there are none.
func (c *cursor) forward() compile.CursorStep {
	return [...]compile.CursorStep{compile.CursorFirst, compile.CursorNext, compile.CursorOpen}[c.pos]
}

// backward returns the step to earlier rows, or CursorOpen if there are none.
func (c *cursor) backward() compile.CursorStep {
	return [...]compile.CursorStep{compile.CursorOpen, compile.CursorPrior, compile.CursorLast}[c.pos]
}
