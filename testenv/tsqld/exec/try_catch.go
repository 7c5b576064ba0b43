package exec

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/format"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// handlers executes TRY, THROW, RAISERROR and PRINT.
type handlers struct{ *run }

// try executes BEGIN TRY ... END CATCH. The start of each block and the end of the last one send a
// DONE; a statement that leaves the blocks, such as RETURN, leaves out the last (SQL Server 2025,
// recorded).
func (r handlers) try(st *syntax.TryStmt) (ctl, error) {
	if err := r.boundary(answer.CommandTry); err != nil {
		return ctl{}, err
	}
	r.tries++
	r.f.tries++
	c, err := r.list(st.Try)
	r.tries--
	r.f.tries--
	var f *failure.Error
	if err == nil || !errors.As(err, &f) || !r.catches(f) {
		return c, r.ended(c, err)
	}
	s := r.s
	outer := s.caught
	s.caught = f.Err
	if err = r.boundary(answer.CommandCatch); err == nil {
		c, err = r.list(st.Catch)
	}
	s.caught = outer
	return c, r.ended(c, err)
}

// boundary sends the DONE of the start or end of a block. A GOTO that enters the statement passes
// no start.
func (r handlers) boundary(c answer.Command) error {
	if r.gotoLabel != "" || r.executionDisabled() {
		return nil
	}
	return r.endWithoutCount(c)
}

// ended sends the DONE of the end of the blocks, unless control leaves them otherwise.
func (r handlers) ended(c ctl, err error) error {
	if err != nil || c.kind != ctlNext {
		return err
	}
	return r.boundary(answer.CommandEndTry)
}

// catches reports whether a failure that reaches the current frame ends here. TRY blocks do not
// catch errors of compilation of their own scope.
func (r handlers) catches(f *failure.Error) bool {
	return f.Pending && (f.From != failure.AtCompile || f.Frame != r.f)
}

// throw executes THROW.
func (r handlers) throw(st *syntax.ThrowStmt) error {
	if st.Number == nil {
		if r.s.caught == nil {
			return mserr.ThrowOutsideCatch()
		}
		again := *r.s.caught
		return failure.Originated(&again, failure.AtThrow)
	}
	number, err := r.value(st.Number, types.BigIntType)
	if err != nil {
		return err
	}
	text, err := r.value(st.Message, types.NVarCharOf(2048))
	if err != nil {
		return err
	}
	state, err := r.value(st.State, types.IntType)
	if err != nil {
		return err
	}
	n, ok := number.(int64)
	if !ok || n < 50000 || n > 2147483647 {
		return mserr.Of(35100, n)
	}
	e := &mserr.Error{Number: int32(n), Class: 16, State: clampState(state)}
	if text != nil {
		e.Message = throwText(text.(string))
	}
	return failure.Originated(e, failure.AtThrow)
}

// throwText returns the text that the client gets for a message of THROW. SQL Server passes the
// message to the system's FormatMessage without arguments. %% becomes a percent sign, and a text
// with a directive that needs an argument becomes one blank. Other percent signs are dropped. The
// page of THROW documents only %%:
// https://learn.microsoft.com/sql/t-sql/language-elements/throw-transact-sql#arguments. The rest
// was observed: https://sqlblog.org/2015/02/13/s1-fun-with-throw.
func throwText(message string) string {
	if !strings.Contains(message, "%") {
		return message
	}
	var out strings.Builder
	for i := 0; i < len(message); i++ {
		if message[i] != '%' {
			out.WriteByte(message[i])
			continue
		}
		i++
		if i == len(message) {
			break
		}
		switch c := message[i]; c {
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case '0':
			return out.String()
		case 'd', 'i', 'o', 's', 'u', 'x', 'X', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return " "
		default: // also for %%
			out.WriteByte(c)
		}
	}
	return out.String()
}

// clampState returns the state of THROW and RAISERROR: the last eight bits, 1 for a negative state.
func clampState(v types.Value) uint8 {
	n, ok := v.(int64)
	switch {
	case !ok || n < 0:
		return 1
	}
	return uint8(n)
}

// raiserror executes RAISERROR.
func (r handlers) raiserror(st *syntax.RaiserrorStmt) error {
	severity, err := r.value(st.Severity, types.IntType)
	if err != nil {
		return err
	}
	state, err := r.value(st.State, types.IntType)
	if err != nil {
		return err
	}
	class, _ := severity.(int64)
	number, text, own, err := r.raisedText(st, min(max(class, 0), 25), clampState(state))
	if err != nil {
		if class > 10 || st.SetError { // recorded: @@ERROR is the number of the message, though its text fails
			r.raised = number
		}
		return err
	}
	if class == -1 { // documentation of RAISERROR: -1 means the severity in the definition of the message
		class = int64(own)
	}
	class = min(max(class, 0), 25)
	if class > 18 && (!st.Log || !r.s.Sysadmin()) {
		return mserr.SeverityPermission(18)
	}
	e := &mserr.Error{Number: number, Class: uint8(class), State: clampState(state), Message: text}
	r.s.RowCount = 0
	if class > 10 {
		err = failure.Originated(e, failure.AtRaise)
		if st.NoWait {
			// report sends the message later, unless the error is caught. The output before the
			// message is sent now in both cases.
			err = errors.Join(err, r.out.Flush())
		}
		return err
	}
	if err := r.info(e); err != nil {
		return err
	}
	if st.SetError {
		r.raised = 50000
	}
	if st.NoWait {
		return r.out.Flush()
	}
	return nil
}

// raisedText returns number and text of RAISERROR's message, and the severity in the definition of
// the message.
func (r handlers) raisedText(
	st *syntax.RaiserrorStmt, class int64, state uint8,
) (number int32, text string, own uint8, err error) {
	v, t, err := r.eval(st.Message)
	if err != nil {
		return 0, "", 0, err
	}
	args, ts := make([]types.Value, len(st.Args)), make([]types.Type, len(st.Args))
	for i, a := range st.Args {
		if args[i], ts[i], err = r.eval(a); err != nil {
			return 0, "", 0, err
		}
		t := ts[i]
		if _, isVariable := a.(*syntax.VarRef); isVariable && !format.CanSubstitute(t) {
			return 0, "", 0, failure.Compile(mserr.InvalidSubstitution(t.String(), i+4))
		}
	}
	if t.IsNumber() {
		n, _ := v.(int64)
		isSystem := r.f.kind == procFrame && r.f.procID == 0 // a system procedure raises any message
		if n < 13000 && !isSystem || n > 2147483647 {
			return 0, "", 0, mserr.InvalidErrorNumber(n, 13000, 2147483647)
		}
		own, pattern, ok := mserr.Definition(n)
		if m, found := r.s.inst.Messages.Find(n); found {
			own, pattern, ok = uint8(m.Severity), m.Text, true
		}
		if !ok {
			return int32(n), "", 0, mserr.UnknownMessage(n, class, int64(state))
		}
		text, err = format.Message(r.s.Meter(), pattern, ts, args)
		return int32(n), text, own, err
	}
	pattern, ok := v.(string)
	if !ok {
		return 50000, "", 0, nil
	}
	text, err = format.Message(r.s.Meter(), pattern, ts, args)
	return 50000, text, 0, err
}

// print executes PRINT.
func (r handlers) print(st *syntax.PrintStmt) error {
	v, err := r.value(st.X, types.NVarCharMax)
	if err != nil {
		return err
	}
	r.s.RowCount = 0
	text, _ := v.(string)
	if text == "" {
		text = " " // SQL Server sends a blank for an empty or NULL text
	}
	if cut := []rune(text); len(cut) > printLimit {
		text = string(cut[:printLimit])
	}
	return r.info(&mserr.Error{Message: text, State: 1})
}

// printLimit is the maximum length of PRINT's text, in characters of nvarchar (documentation:
// PRINT, "Remarks").
const printLimit = 4000
