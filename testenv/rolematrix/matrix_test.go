package rolematrix

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	sapfront "github.com/jobagent/jobagent/agent/rest/sap"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/front"
)

var update = flag.Bool("update", false, "TestRoleMatrixOfREST writes testdata/role_matrix.txt instead of comparing it")

// instance is the instance of the SAP surface.
const instance = "inst1"

// databaseRole names the database role of a request's calls in place of the caller's: the front
// errs.
const databaseRole = "X-Test-Database-Role"

// watch watches the handlers of a surface.
type watch struct {
	rest.Surface
	operations []rest.Operation

	mu     sync.Mutex
	called int   // handlers since the last reset
	denied error // the last refusal of the control database
}

// newWatch returns a surface whose handlers are watched.
func newWatch(s rest.Surface) *watch {
	w := &watch{Surface: s}
	for _, op := range s.Operations() {
		handle := op.Handle
		op.Handle = func(ctx context.Context, r *rest.Request) (*rest.Response, error) {
			if role := r.HTTP.Header.Get(databaseRole); role != "" {
				ctx = caller.With(ctx, caller.Caller{Role: role, Name: "erring front", Door: "REST"})
			}
			answer, err := handle(ctx, r)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.called++
			if refusal(err) {
				w.denied = err
			}
			return answer, err
		}
		w.operations = append(w.operations, op)
	}
	return w
}

// Operations implements rest.Surface.
func (w *watch) Operations() []rest.Operation { return w.operations }

// reset returns what happened since the last reset.
func (w *watch) reset() (called int, denied error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	called, denied = w.called, w.denied
	w.called, w.denied = 0, nil
	return called, denied
}

// refusal reports whether an error is that of a missing permission in the control database.
func refusal(err error) bool {
	var e mssqldb.Error
	return errors.As(err, &e) && e.Number == 229
}

// matrix is the front of the test.
type matrix struct {
	*front.Front
	tokens   map[rest.Role]string
	surfaces map[string]*watch
	vars     map[string]string
}

// start starts a front with real authentication and a token for each role.
func start(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{tokens: map[rest.Role]string{}, surfaces: map[string]*watch{}, vars: map[string]string{}}
	var cfg auth.Config
	for role := rest.RoleNone; role <= rest.RoleAdmin; role++ {
		one, text := tokenfile.New()
		one.Name = role.String()
		if role > rest.RoleNone {
			one.Role, one.Scope = role.String(), "/"
		}
		cfg.Tokens = append(cfg.Tokens, one)
		m.tokens[role] = text
	}
	authenticator, err := auth.New(cfg, auth.Options{PublicURL: "https://front.example", Instances: []auth.Instance{{Name: instance, Tenant: "provider"}}})
	require.NoError(t, err)
	m.Front = front.Start(t, func(t testing.TB, f *front.Front) (mounts []*rest.Mount) {
		require.NoError(t, sap.On(f.Store).SetProvider(t.Context(), "provider", "", ""))
		for _, s := range surfaces(t, f.Directory, f.Store) {
			w := newWatch(s)
			m.surfaces[s.Name()] = w
			mounts = append(mounts, &rest.Mount{Surface: w, ARM: s.Name() != "sap"})
		}
		return mounts
	}, func(c *rest.Config) { c.Authenticator, c.Authorizer = authenticator, authenticator })
	m.DefineJob(t)
	_, err = m.DB(t, m.Control).ExecContext(t.Context(), `EXECUTE jobs.sp_set_setting N'questions', 1;`)
	require.NoError(t, err)
	m.defineRollout(t)
	return m
}

// defineRollout makes a roll-out that has been aborted, so that its state refuses each decision.
func (m *matrix) defineRollout(t *testing.T) {
	t.Helper()
	_, err := catalog.On(m.Store).AddJob(t.Context(), model.JobSpec{Name: "j2"})
	require.NoError(t, err)
	_, err = catalog.On(m.Store).AddJobStep(t.Context(), model.StepSpec{JobName: "j2", Command: new("SELECT 1"), TargetGroup: new("g1")})
	require.NoError(t, err)
	require.NoError(t, catalog.On(m.Store).SetJobRollout(t.Context(), "j2", `{"waves": [{"name": "all", "targets": "rest", "approval": "any"}]}`, nil))
	id := uuid.MustParse(rollout)
	_, err = executions.On(m.Store).Start(t.Context(), executions.StartRequest{Job: "j2", ID: id})
	require.NoError(t, err)
	is := func(state string) func() bool {
		return func() bool {
			r, err := rollouts.On(m.Store).Get(t.Context(), id)
			return err == nil && string(r.State) == state
		}
	}
	require.Eventually(t, is("WaitingForApproval"), 30*time.Second, 50*time.Millisecond)
	require.NoError(t, executions.On(m.Store).Stop(t.Context(), id))
	require.Eventually(t, is("Aborted"), 30*time.Second, 50*time.Millisecond)
}

// surfaces returns the surfaces of all APIs.
func surfaces(t testing.TB, directory *rest.Directory, store *controldb.Store) []rest.Surface {
	t.Helper()
	service, err := sapfront.New([]sapfront.Service{{
		Instance: sapfront.Instance{Name: instance, Tenant: "provider", AllowAnonymousActions: true}, Store: store,
	}}, sapfront.RateLimit{}, zap.NewNop())
	require.NoError(t, err)
	return []rest.Surface{elastic.New(elastic.Config{Directory: directory}), scheduler.New(scheduler.Config{}, directory, nil), service}
}

// send sends the request of a sample. database is the database role of an erring front.
func (m *matrix) send(t *testing.T, s sample, method, token, database string) (status int, body string) {
	t.Helper()
	path, text := s.path, s.body
	for name, value := range m.vars {
		path, text = strings.ReplaceAll(path, "<"+name+">", value), strings.ReplaceAll(text, "<"+name+">", value)
	}
	require.NotContains(t, path, "<", "a sample before this one gives the value")
	r, err := http.NewRequestWithContext(t.Context(), method, m.URL+path, strings.NewReader(text))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if text != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if database != "" {
		r.Header.Set(databaseRole, database)
	}
	answer, err := m.HTTP.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(b)
}

// cell is what happens to a role at an operation: what the front does, and the control database.
type cell struct{ front, database bool }

// String returns the cell's text in the table.
func (c cell) String() string {
	return map[bool]string{true: "yes", false: "no"}[c.front] + "/" + map[bool]string{true: "yes", false: "no"}[c.database]
}

// TestRoleMatrixOfREST sends each operation of each surface with each role. The front refuses what
// the operation's role does not include before its handler is called, and lets pass what it
// includes. If the front let a request pass by mistake, the database user of the caller's role
// could not carry it out.
func TestRoleMatrixOfREST(t *testing.T) {
	m := start(t)
	rows := map[string]string{} // by surface and operation
	for _, s := range samples {
		w := m.surfaces[s.surface]
		op := w.find(t, s.operation)
		name := s.surface + " " + s.operation
		least := op.Role
		if s.least > 0 {
			name, least = name+" "+s.body, s.least
		}
		require.NotContains(t, rows, name, "two samples")
		cells := map[rest.Role]cell{}
		if s.keep != nil && op.Method == http.MethodGet {
			require.Eventually(t, func() bool {
				status, body := m.send(t, s, op.Method, m.tokens[rest.RoleAdmin], "")
				return status < 300 && m.keep(t, s, body)
			}, 30*time.Second, 50*time.Millisecond, name)
		}
		w.reset()
		for role := rest.RoleNone; role < least; role++ {
			status, body := m.send(t, s, op.Method, m.tokens[role], "")
			called, _ := w.reset()
			if role < op.Role {
				require.Zero(t, called, "%s by %s: the handler was called", name, role)
			}
			require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, status, "%s by %s: %s", name, role, body)
			if role > rest.RoleNone {
				require.Equal(t, http.StatusForbidden, status, "%s by %s: %s", name, role, body)
				cells[role] = cell{false, m.errs(t, s, op, role)}
			}
		}
		for role := least; role <= rest.RoleAdmin; role++ {
			status, body := m.send(t, s, op.Method, m.tokens[role], "")
			_, denied := w.reset()
			if role == least {
				if s.status == 0 {
					require.Less(t, status, 300, "%s by %s: the sample is not valid: %s", name, role, body)
				} else {
					require.Equal(t, s.status, status, "%s by %s: %s", name, role, body)
				}
				require.True(t, m.keep(t, s, body), "%s: %s", name, body)
			}
			passes := status != http.StatusForbidden && status != http.StatusUnauthorized
			cells[role] = cell{passes, denied == nil}
			require.Equal(t, cell{true, true}, cells[role], "%s by %s: %s %v", name, role, body, denied)
		}
		row := fmt.Sprintf("%-10s %-42s %-7s", s.surface, s.operation, op.Method)
		if s.least > 0 {
			row = fmt.Sprintf("%-10s   with %-35s %-7s", "", s.body, op.Method)
		}
		for role := rest.RoleReader; role <= rest.RoleAdmin; role++ {
			row += fmt.Sprintf(" %-8s", cells[role])
			if !cells[role].front && cells[role].database {
				require.Contains(t, frontOnly, name, "the control database lets %s carry out what the front refuses", role)
			}
		}
		rows[name] = strings.TrimRight(row, " ") + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Each operation of the REST front by role: what the front does with the request / what the control database does with the\n"+
		"# calls of its handler if the front lets it pass. TestRoleMatrixOfREST -update writes this file.\n"+
		"%-10s %-42s %-7s %-8s %-8s %-8s %-8s\n", "surface", "operation", "method", "reader", "operator", "author", "admin")
	for _, name := range []string{"sql", "scheduler", "sap"} {
		w := m.surfaces[name]
		if w == nil {
			continue
		}
		for _, op := range w.operations {
			row, ok := rows[name+" "+op.ID]
			if !ok {
				t.Errorf("operation %s of surface %s, %s %s, has no sample: add one to samples", op.ID, name, op.Method, op.Path)
			}
			b.WriteString(row)
			for _, s := range samples {
				if s.surface == name && s.operation == op.ID && s.least > 0 {
					b.WriteString(rows[name+" "+op.ID+" "+s.body])
				}
			}
		}
	}
	golden := filepath.Join("testdata", "role_matrix.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run go test ./testenv/rolematrix -update")
}

// find returns an operation.
func (w *watch) find(t *testing.T, id string) rest.Operation {
	t.Helper()
	for _, op := range w.operations {
		if op.ID == id {
			return op
		}
	}
	t.Fatalf("surface %s has no operation %s", w.Name(), id)
	return rest.Operation{}
}

// errs sends a request as the front would if it erred: with the rights of an administrator in the
// front, and the database user of the caller's role. It reports whether the control database
// carried the request out.
func (m *matrix) errs(t *testing.T, s sample, op rest.Operation, role rest.Role) (carriedOut bool) {
	t.Helper()
	w := m.surfaces[s.surface]
	status, body := m.send(t, s, op.Method, m.tokens[rest.RoleAdmin], role.DatabaseRole())
	called, denied := w.reset()
	require.Equal(t, 1, called)
	if denied == nil {
		t.Logf("%s %s by %s: %d %s", s.surface, s.operation, role, status, body)
	}
	return denied == nil
}

// keep keeps values of an answer for the samples that follow. It reports whether all are there.
func (m *matrix) keep(t *testing.T, s sample, body string) bool {
	t.Helper()
	for name, path := range s.keep {
		var v any
		dec := json.NewDecoder(strings.NewReader(body))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&v), body)
		for part := range strings.SplitSeq(path, ".") {
			switch x := v.(type) {
			case map[string]any:
				v = x[part]
			case []any:
				if len(x) == 0 {
					return false
				}
				v = x[0]
			}
		}
		if v == nil {
			return false
		}
		m.vars[name] = fmt.Sprint(v)
	}
	return true
}
