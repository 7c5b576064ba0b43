package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/script"
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// recorder is a Sink that records its calls.
type recorder struct {
	b    script.Result
	cols []types.Column
	open bool // a result set has started and not ended
}

func (r *recorder) Columns(cols []types.Column) error {
	r.cols, r.open = append([]types.Column(nil), cols...), true
	out := make([]script.Column, len(cols))
	for i, c := range cols {
		out[i] = script.Column{Name: c.Name, Type: c.Type.String(), NotNull: !c.Nullable}
	}
	r.b.Columns(out)
	return nil
}

func (r *recorder) Row(vals []types.Value) error {
	out := make([]string, len(vals))
	for i, v := range vals {
		if v == nil && !r.cols[i].Nullable {
			return fmt.Errorf("column %d (%q) is NULL, and announced as not nullable", i+1, r.cols[i].Name)
		}
		out[i] = script.Escape(show(v, r.cols[i].Type))
	}
	r.b.Row(out)
	return nil
}

// show converts a value to nvarchar(max), dates and times in style 121.
func show(v types.Value, t types.Type) string {
	if v == nil {
		return "NULL"
	}
	if t.IsBinary() || t.ID == types.Image || t.ID == types.RowVersion {
		return fmt.Sprintf("0x%X", v.([]byte))
	}
	s, err := types.Convert(v, t, types.NVarCharMax, 121*b2i(t.IsTemporal()))
	if err != nil {
		return fmt.Sprintf("%v (%v)", v, err)
	}
	return s.(string)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Done shows counts as clients do: not that of an assignment, whose command is that of SELECT.
func (r *recorder) Done(d answer.Done) error {
	switch {
	case d.Error:
		r.b.Line("(error)")
	case d.Count && (r.open || d.Command != answer.CommandSelect):
		r.b.Count(d.Rows)
	}
	r.open = false
	return nil
}

func (r *recorder) Message(m *mserr.Error) error {
	r.b.Message(script.Message{
		Number: m.Number, Level: m.Class, State: m.State, Procedure: m.Proc, Line: int32(m.Line), Text: m.Message,
	})
	return nil
}

func (r *recorder) ReturnStatus(code int32) error {
	r.b.Line(fmt.Sprintf("return %d", code))
	return nil
}

func (r *recorder) ReturnValue(_ int, name string, t types.Type, v types.Value) error {
	r.b.Line(fmt.Sprintf("%s %s = %s", name, t, show(v, t)))
	return nil
}

func (r *recorder) EnvChange(c answer.EnvChange) error {
	if c.Kind == answer.EnvDatabase {
		r.b.Line("env: database " + c.New)
	}
	return nil
}

// newInstance opens an instance with the database "work".
func newInstance(t *testing.T) *Instance {
	t.Helper()
	inst, err := New(session.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	require.NoError(t, s.Batch(context.Background(), "CREATE DATABASE work", &recorder{}))
	require.NoError(t, s.Close())
	return inst
}

func openSession(t *testing.T, inst *Instance, login session.Login) *Session {
	t.Helper()
	s, err := inst.NewSession(context.Background(), login)
	require.NoError(t, err)
	return s
}
