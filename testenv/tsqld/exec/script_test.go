package exec

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts in testdata")

// recorder is a Sink that writes down what it receives, one line each.
type recorder struct {
	b    strings.Builder
	cols []types.Column
}

func (r *recorder) Columns(cols []types.Column) error {
	r.cols = append([]types.Column(nil), cols...)
	names := make([]string, len(cols))
	for i, c := range cols {
		name := c.Name
		if name == "" {
			name = "(no name)"
		}
		null := ""
		if !c.Nullable {
			null = " not null"
		}
		names[i] = name + " " + c.Type.String() + null
	}
	fmt.Fprintf(&r.b, "[%s]\n", strings.Join(names, ", "))
	return nil
}

func (r *recorder) Row(vals []types.Value) error {
	out := make([]string, len(vals))
	for i, v := range vals {
		if v == nil && !r.cols[i].Nullable {
			return fmt.Errorf("column %d (%q) is NULL, and announced as not nullable", i+1, r.cols[i].Name)
		}
		out[i] = show(v, r.cols[i].Type)
	}
	fmt.Fprintf(&r.b, "%s\n", strings.Join(out, " | "))
	return nil
}

// show formats a value as the server would convert it to a text.
func show(v types.Value, t types.Type) string {
	if v == nil {
		return "NULL"
	}
	if t.IsBinary() || t.ID == types.Image || t.ID == types.RowVersion {
		return types.FormatBinary(v.([]byte))
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

func (r *recorder) Done(d Done) error {
	switch {
	case d.Error:
		r.b.WriteString("(error)\n")
	case d.Count:
		fmt.Fprintf(&r.b, "(%d)\n", d.Rows)
	}
	return nil
}

func (r *recorder) Message(m *mserr.Error) error {
	if m.Class == 0 && m.Number == 0 {
		fmt.Fprintf(&r.b, "print: %s\n", m.Message)
		return nil
	}
	where := ""
	if m.Proc != "" {
		where = " " + m.Proc
	}
	fmt.Fprintf(&r.b, "Msg %d, Level %d, State %d,%s Line %d: %s\n", m.Number, m.Class, m.State, where, m.Line, m.Message)
	return nil
}

func (r *recorder) ReturnStatus(code int32) error {
	fmt.Fprintf(&r.b, "return %d\n", code)
	return nil
}

func (r *recorder) ReturnValue(_ int, name string, t types.Type, v types.Value) error {
	fmt.Fprintf(&r.b, "%s %s = %s\n", name, t, show(v, t))
	return nil
}

func (r *recorder) EnvChange(c EnvChange) error {
	if c.Kind == EnvDatabase {
		fmt.Fprintf(&r.b, "env: database %s\n", c.New)
	}
	return nil
}

// newInstance starts an instance with the database "work".
func newInstance(t *testing.T) *Instance {
	t.Helper()
	inst, err := New(Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	s := openSession(t, inst, Login{User: "sa", Password: "secret"})
	require.NoError(t, s.Batch(context.Background(), "CREATE DATABASE work", &recorder{}))
	require.NoError(t, s.Close())
	return inst
}

func openSession(t *testing.T, inst *Instance, login Login) *Session {
	t.Helper()
	s, err := inst.NewSession(context.Background(), login)
	require.NoError(t, err)
	return s
}

// TestScripts runs testdata/*.txt. A script consists of batches, each followed by a line "----", what it
// answers, and an empty line. A line "-- session NAME" before a batch picks a session of that name (a
// new one on first use); other lines that start with "#" are remarks.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	inst := newInstance(t)
	sessions := map[string]*Session{}
	closed := make(chan error, 100) // ends of killed sessions
	defer func() {
		for _, s := range sessions {
			if !s.dying() {
				require.NoError(t, s.Close())
			}
		}
	}()
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		var batch, want []string
		for ; i < len(lines) && lines[i] != "----"; i++ {
			batch = append(batch, lines[i])
		}
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want = append(want, lines[i])
		}
		name := "main"
		if n, ok := strings.CutPrefix(batch[0], "-- session "); ok {
			name = n
		}
		s := sessions[name]
		if s == nil {
			s = openSession(t, inst, Login{User: "sa", Password: "secret", Database: "work", App: "test", Host: "here"})
			sessions[name] = s
			// What the connection of a killed session does, while it runs nothing.
			s.OnKill(func() { go func() { closed <- s.Close() }() })
			defer func() {
				if s.dying() {
					require.NoError(t, <-closed)
				}
			}()
		}
		var r recorder
		err := s.Batch(context.Background(), strings.Join(batch, "\n"), &r)
		if err != nil {
			fmt.Fprintf(&r.b, "connection ends: %v\n", err)
			if !s.dying() {
				require.NoError(t, s.Close())
			}
			delete(sessions, name)
		}
		got := r.b.String()
		fmt.Fprintf(&out, "%s\n----\n%s", strings.Join(batch, "\n"), got)
		if !*update {
			require.Equal(t, strings.Join(want, "\n"), strings.TrimRight(got, "\n"), "%s", strings.Join(batch, "\n"))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644))
	}
}
