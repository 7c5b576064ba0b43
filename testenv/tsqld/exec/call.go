package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// rootUnit is the unit of requests without text.
var rootUnit = &unit.Unit{}

// Call executes a remote procedure call. For errors see Batch.
func (s *Session) Call(ctx context.Context, call Call, sink answer.Sink) error {
	return s.serveText(ctx, sink, "EXECUTE", call.text(), func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.DefaultSchema(), owner: -1, line: 1}
		return calls{r}.inFrame(f, func() error { return r.settle(nil, calls{r}.remoteCall(call)) })
	})
}

// text returns the text of the call for sys.dm_exec_sql_text: the statement of sp_executesql, ""
// for other procedures.
func (c Call) text() string {
	if len(c.Params) == 0 || !catalog.EqualNames(c.Proc, "sp_executesql") {
		return ""
	}
	text, _ := c.Params[0].Value.(string)
	return text
}

// remoteCall executes a call and sends its outputs.
func (r calls) remoteCall(call Call) error {
	if r.s.Options.ShowPlan {
		return mserr.NotSupported("a remote procedure call while SHOWPLAN_XML is ON")
	}
	name := session.SplitName(call.Proc)
	args := make([]callArg, len(call.Params))
	for i, p := range call.Params {
		args[i] = callArg{name: p.Name, typ: p.Type, val: p.Value, output: p.Output, isDefault: p.Default}
		if p.TypeName != "" || p.Columns != nil {
			args[i].sent = &sentTable{columns: p.Columns, rows: p.Rows}
		}
		if p.Output {
			// The client gets the type that it declared, whatever type the procedure declares. A
			// zero type is replaced by the type of the parameter.
			args[i].target = &variable{typ: p.Type, val: p.Value}
		}
	}
	status, err := r.call(name, args)
	if err != nil {
		return errors.Join(r.settle(nil, err), r.out.EndProc())
	}
	if status.broken {
		return errors.Join(r.settleCall(status.imbalance), r.out.EndProc())
	}
	code, _ := status.val.(int64)
	if err := r.out.ReturnStatus(int32(code)); err != nil {
		return err
	}
	for i := range args {
		t := args[i].target
		if t == nil {
			continue
		}
		typ := t.typ
		if typ.ID == 0 {
			typ = args[i].typ
		}
		if err := r.out.ReturnValue(i, args[i].name, typ, t.val); err != nil {
			return err
		}
	}
	if err := r.settleCall(status.imbalance); err != nil {
		return err
	}
	return r.out.EndProc()
}

// sentTable is a table-valued parameter from a client.
type sentTable struct {
	columns []types.Column
	rows    [][]types.Value
}

// bindSent creates the table of a table-valued parameter from the rows of a client.
func (r calls) bindSent(name string, tt *catalog.TableType, t *catalog.Table, sent *sentTable) error {
	if len(sent.columns) > 0 && len(sent.columns) != len(tt.Table.Columns) {
		return mserr.Of(500, len(sent.columns), len(tt.Table.Columns))
	}
	if err := r.s.CreateVariable(r.ctx, t); err != nil {
		return err
	}
	rows := make([][]types.Value, len(sent.rows))
	for i, row := range sent.rows {
		out := make([]types.Value, 0, len(row))
		for j, c := range t.Columns {
			if c.Formula != nil {
				continue
			}
			if j >= len(row) {
				return mserr.ColumnCount()
			}
			var v types.Value
			var err error
			switch left := sent.columns[j].Identity; {
			case c.Auto != nil && !left:
				return mserr.Of(1077)
			case c.Auto != nil:
				v, err = types.Convert(c.Auto.Seed+int64(i)*c.Auto.Increment, types.BigIntType, c.Type, 0)
			case left && c.Default != nil:
				v, err = r.defaultValue(c)
			default:
				v, err = r.sentValue(row[j], sent.columns[j].Type, c)
			}
			if err != nil {
				return err
			}
			if v == nil && !c.Nullable {
				return mserr.NullInsert(c.Name, name, "INSERT")
			}
			out = append(out, v)
		}
		rows[i] = out
	}
	if c := t.IdentityColumn(); c != nil && len(rows) > 0 {
		last := c.Auto.Seed + int64(len(rows)-1)*c.Auto.Increment
		r.s.inst.SetCounter(r.s.Counters.IdentityKey(0, t), session.Counter{Last: last, Used: true})
	}
	err := r.s.Fill(r.ctx, t, rows)
	var ce *store.ConstraintError
	if errors.As(err, &ce) {
		return r.s.ConstraintMessage("INSERT", nil, t, ce)
	}
	return err
}

// defaultValue computes the default of a column.
func (r calls) defaultValue(c *catalog.Column) (types.Value, error) {
	e, err := parser.ParseExpr(c.Default.Text, parser.DefaultOptions)
	if err != nil {
		return nil, err
	}
	return r.value(e, c.Type)
}

// sentValue converts a client's value to the type of a column. Character and binary data that does
// not fit is an error.
func (r calls) sentValue(v types.Value, from types.Type, c *catalog.Column) (types.Value, error) {
	if v == nil || from == c.Type {
		return v, nil
	}
	if err := types.CheckImplicit(from, c.Type); err != nil {
		return nil, err
	}
	if types.Truncates(v, from, c.Type) {
		return nil, mserr.Truncated()
	}
	return r.s.Assign(v, from, c.Type)
}

// prepared is a statement of sp_prepare.
type prepared struct {
	text, params string
}

// executeSQL executes sp_executesql @stmt, @params, values.... Its return code is the number of the
// last error. An error that does not end the batch is sent before the return code. Source: SQL
// Server 2025, recorded.
func (r calls) executeSQL(args []callArg) (int32, error) {
	text, params, rest, err := r.textAndParams("sp_executesql", args, 0, 1)
	if err != nil {
		err = r.settle(nil, err)
		return r.s.LastError, err
	}
	return r.lastErrorOf(text, params, rest)
}

// lastErrorOf executes a text as dynamic does and returns the number of the last error. It settles
// errors of the text that do not end the batch.
func (r calls) lastErrorOf(text, params string, args []callArg) (int32, error) {
	before, level := r.settled, r.s.Tran.Level()
	if _, err := r.dynamic(text, params, args); err != nil {
		if err = r.settle(nil, err); err != nil {
			return 0, err
		}
	}
	if err := r.settleCall(r.balance(level, "")); err != nil {
		return 0, err
	}
	if r.settled == before {
		return 0, nil
	}
	return r.s.LastError, nil
}

// textAndParams extracts the statement and the declaration of its parameters from the arguments of
// a system procedure. rest has the other arguments.
func (r calls) textAndParams(
	proc string, args []callArg, textAt, paramsAt int,
) (text, params string, rest []callArg, err error) {
	sawText := false
	for i := range args {
		a := args[i]
		switch {
		case a.name == "" && i == textAt, catalog.EqualNames(a.name, "@stmt"), catalog.EqualNames(a.name, "@statement"):
			if text, err = textArgument("@statement", a); err != nil {
				return "", "", nil, err
			}
			sawText = true
		case a.name == "" && i == paramsAt, catalog.EqualNames(a.name, "@params"):
			if params, err = textArgument("@params", a); err != nil {
				return "", "", nil, err
			}
		default:
			rest = append(rest, a)
		}
	}
	if !sawText {
		return "", "", nil, mserr.MissingParameter(proc, "@statement")
	}
	return text, params, rest, nil
}

// textArgument returns the value of an argument that must be Unicode text. Error 214, whose state
// is 3 for the declaration of parameters.
func textArgument(name string, a callArg) (string, error) {
	if a.val == nil {
		return "", nil
	}
	s, ok := a.val.(string)
	if !ok || !a.typ.IsUnicode() {
		err := mserr.ParameterType(name, "ntext/nchar/nvarchar")
		if name == "@params" {
			err.State = 3
		}
		return "", err
	}
	return s, nil
}

// prepareStatement executes sp_prepare @handle OUTPUT, @params, @stmt, @options.
func (r calls) prepareStatement(args []callArg) (int32, error) {
	if len(args) < 3 {
		return 0, mserr.MissingParameter("sp_prepare", "@stmt")
	}
	text, params, _, err := r.textAndParams("sp_prepare", args, 2, 1)
	if err != nil {
		return 0, err
	}
	if _, err := r.s.inst.units.Dynamic(r.s.Meter(), text, params, r.s.Options.QuotedIdentifier); err != nil {
		return 0, err
	}
	handle, err := r.s.newHandle(text, params)
	if err != nil {
		return 0, err
	}
	r.setHandle(&args[0], handle)
	return 0, nil
}

// setHandle returns a handle through an OUTPUT argument.
func (r calls) setHandle(a *callArg, handle int64) {
	if a.target == nil {
		return
	}
	if a.target.typ.ID == 0 {
		a.target.typ = types.IntType
	}
	a.target.val = handle
}

// newHandle stores a prepared statement and returns its handle.
func (s *Session) newHandle(text, params string) (int64, error) {
	s.nextHandle++
	if s.handles == nil {
		s.handles = map[int64]*prepared{}
	}
	p := &prepared{text, params}
	if err := s.Meter().Hold(p.size()); err != nil {
		return 0, err
	}
	s.handles[s.nextHandle] = p
	return s.nextHandle, nil
}

// dropHandle removes a prepared statement, if it exists.
func (s *Session) dropHandle(handle int64) {
	if p := s.handles[handle]; p != nil {
		s.Meter().Drop(p.size())
		delete(s.handles, handle)
	}
}

// executePrepared executes sp_execute @handle, values....
func (r calls) executePrepared(args []callArg) (int32, error) {
	if len(args) == 0 {
		return 0, mserr.MissingParameter("sp_execute", "@handle")
	}
	handle, _ := args[0].val.(int64)
	p := r.s.handles[handle]
	if p == nil {
		return 0, mserr.NoPreparedHandle(handle)
	}
	return r.lastErrorOf(p.text, p.params, args[1:])
}

// prepareAndExecute executes sp_prepexec @handle OUTPUT, @params, @stmt, values....
func (r calls) prepareAndExecute(args []callArg) (int32, error) {
	if len(args) < 3 {
		return 0, mserr.MissingParameter("sp_prepexec", "@stmt")
	}
	text, err := textArgument("@stmt", args[2])
	if err != nil {
		return 0, err
	}
	params, err := textArgument("@params", args[1])
	if err != nil {
		return 0, err
	}
	if old, ok := args[0].val.(int64); ok {
		r.s.dropHandle(old)
	}
	handle, err := r.s.newHandle(text, params)
	if err != nil {
		return 0, err
	}
	r.setHandle(&args[0], handle)
	return r.lastErrorOf(text, params, args[3:])
}

// unprepare executes sp_unprepare @handle.
func (r calls) unprepare(args []callArg) (int32, error) {
	if len(args) == 0 {
		return 0, mserr.MissingParameter("sp_unprepare", "@handle")
	}
	handle, _ := args[0].val.(int64)
	if r.s.handles[handle] == nil {
		return 0, mserr.NoPreparedHandle(handle)
	}
	r.s.dropHandle(handle)
	return 0, nil
}

// collect calls do and collects the rows of its result sets, for INSERT ... EXEC.
func (r calls) collect(do func() error) ([]answer.ResultSet, error) {
	r.inserting = true
	sets, err := r.out.Collect(r.s.Meter(), do)
	r.inserting = false
	return sets, err
}
