package cursor

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Values of @@FETCH_STATUS.
const (
	fetchFound   = 0
	fetchOutside = -1 // there is no such row
	fetchMissing = -2 // the row does not exist any longer
)

// fetchNames are the names of the directions in messages.
var fetchNames = map[syntax.FetchDirection][2]string{
	syntax.FetchNext: {"next", "Next"}, syntax.FetchPrior: {"prior", "Prior"},
	syntax.FetchFirst: {"first", "First"}, syntax.FetchLast: {"last", "Last"},
	syntax.FetchAbsolute: {"absolute", "Absolute"}, syntax.FetchRelative: {"relative", "Relative"},
}

// CheckFetch returns an error for a FETCH that the cursor does not allow, and sets @@FETCH_STATUS
// for it. Errors: 16911, 16917, 16924, 16925.
func (c *Cursor) CheckFetch(st *syntax.FetchStmt) error {
	c.s.FetchStatus = fetchOutside
	switch {
	case !c.open:
		return mserr.CursorNotOpen().WithState(2)
	case st.Direction == syntax.FetchAbsolute && c.kind == plan.CursorDynamic:
		return mserr.FetchTypeDynamic(fetchNames[st.Direction][1])
	case st.Direction != syntax.FetchNext && !c.scroll:
		return mserr.FetchType(fetchNames[st.Direction][0])
	case len(st.Into) > 0 && len(st.Into) != len(c.cols):
		return mserr.FetchVariables()
	}
	return nil
}

// Columns returns the columns of the rows of an open cursor.
func (c *Cursor) Columns() []types.Column { return c.cols }

// Move moves the cursor, sets @@FETCH_STATUS, and returns the current row; nil if there is none. n
// is the number of FETCH ABSOLUTE and RELATIVE.
func (c *Cursor) Move(q Query, direction syntax.FetchDirection, n int64) ([]types.Value, error) {
	if c.kind == plan.CursorDynamic {
		return c.stepTo(q, direction, n)
	}
	return c.moveTo(q, direction, n)
}

// moveTo moves a static or keyset cursor and returns the row; nil if there is none.
func (c *Cursor) moveTo(q Query, direction syntax.FetchDirection, n int64) ([]types.Value, error) {
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
		c.gone, c.s.FetchStatus = false, fetchOutside
		return nil, c.setPlace(nil)
	}
	if c.kind == plan.CursorStatic {
		c.s.FetchStatus = fetchFound
		return c.rows[c.pos-1], nil
	}
	return c.readRow(q, plan.CursorCurrent, &tree.Run{Row: c.rows[c.pos-1]})
}

// readRow reads a row of a keyset or dynamic cursor, which becomes the current row. It returns nil
// if the row does not exist.
func (c *Cursor) readRow(q Query, step plan.CursorStep, at *tree.Run) ([]types.Value, error) {
	row, err := c.findRow(q, step, at)
	if err != nil {
		return nil, err
	}
	place := at.Row
	c.s.FetchStatus, c.gone = fetchMissing, true
	if row != nil {
		place = row[len(c.cols):]
		row = row[:len(c.cols)]
		c.s.FetchStatus, c.gone = fetchFound, false
	}
	return row, c.setPlace(place)
}

// findRow reads the row of a step with its place; nil if there is none.
func (c *Cursor) findRow(q Query, step plan.CursorStep, at *tree.Run) (row []types.Value, err error) {
	for _, part := range c.partsOf(step, at) {
		p, err := q.Plan(step, part)
		if err != nil {
			return nil, err
		}
		if p.Kind != c.kind {
			return nil, mserr.CursorSchemaChanged()
		}
		err = q.Read(p, at, func(found []types.Value) error {
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
func (c *Cursor) partsOf(step plan.CursorStep, at *tree.Run) []plan.CursorPart {
	if !c.parts || at.Skip > 0 || step != plan.CursorNext && step != plan.CursorPrior {
		return []plan.CursorPart{plan.CursorWhole}
	}
	down := c.down != (step == plan.CursorPrior)
	switch {
	case at.Row[0] == nil && down:
		return []plan.CursorPart{plan.CursorNulls}
	case at.Row[0] == nil:
		return []plan.CursorPart{plan.CursorNulls, plan.CursorAllValues}
	case down:
		return []plan.CursorPart{plan.CursorValues, plan.CursorAllNulls}
	}
	return []plan.CursorPart{plan.CursorValues}
}

// stepTo moves a dynamic cursor and returns the row; nil if there is none. The position is that of
// c.pos: 0 before the first row, 1 at the row of c.place, 2 after the last row.
func (c *Cursor) stepTo(q Query, direction syntax.FetchDirection, n int64) ([]types.Value, error) {
	step, skip := plan.CursorCurrent, int64(0)
	switch direction {
	case syntax.FetchFirst:
		step = plan.CursorFirst
	case syntax.FetchLast:
		step = plan.CursorLast
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
	if step == plan.CursorOpen || step == plan.CursorCurrent && c.pos != 1 {
		c.s.FetchStatus = fetchOutside
		return nil, nil
	}
	row, err := c.readRow(q, step, &tree.Run{Row: c.place, Skip: skip})
	if err != nil {
		return nil, err
	}
	if row != nil {
		c.pos = 1
		return row, nil
	}
	if step == plan.CursorCurrent {
		return nil, nil
	}
	c.s.FetchStatus, c.gone = fetchOutside, false
	c.pos = 0
	if step == plan.CursorFirst || step == plan.CursorNext {
		c.pos = 2
	}
	return nil, c.setPlace(nil)
}

// forward returns the step to later rows, or CursorOpen if there are none.
func (c *Cursor) forward() plan.CursorStep {
	return [...]plan.CursorStep{plan.CursorFirst, plan.CursorNext, plan.CursorOpen}[c.pos]
}

// backward returns the step to earlier rows, or CursorOpen if there are none.
func (c *Cursor) backward() plan.CursorStep {
	return [...]plan.CursorStep{plan.CursorOpen, plan.CursorPrior, plan.CursorLast}[c.pos]
}
