package agent_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/access"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// setCredential seals a password for the active keys and stores the credential.
func setCredential(t *testing.T, store *controldb.Store, name, user, password string, version int) {
	t.Helper()
	sealed, err := secrets.On(store).Seal(t.Context(), secret.Place{Owner: secret.OwnerCredential, Name: name, Version: version}, password)
	require.NoError(t, err)
	_, err = access.On(store).SetCredential(t.Context(), name, user, sealed, nil)
	require.NoError(t, err)
}

// TestStoredCredentials: an agent with the key opens stored passwords, and gets them to further
// keys that it has.
func TestStoredCredentials(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		k, ref := keyFile(t)
		further, furtherRef := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		setCredential(t, f.Store, "c1", "u", "first", 1)
		c := agent.NewStoredCredentials(f.Store, []string{ref, furtherRef}, zap.NewNop())
		login := func(name string) string {
			user, password, found, err := c.Login(name)
			require.NoError(t, err)
			if !found {
				return ""
			}
			return user + " " + password
		}
		require.Equal(t, "u first", login("C1"))
		require.Empty(t, login("none"))
		setCredential(t, f.Store, "c1", "v", "second", 2)
		setCredential(t, f.Store, "none", "n", "none", 1)
		time.Sleep(5 * time.Second)
		require.Equal(t, "v second", login("c1"))
		require.Equal(t, "n none", login("none"))

		lacking := agent.NewStoredCredentials(f.Store, []string{furtherRef}, zap.NewNop())
		_, _, found, err := lacking.Login("c1")
		require.True(t, found)
		require.ErrorContains(t, err, "add one to secret_keys")
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), further.Public()))
		time.Sleep(5 * time.Second)
		require.Equal(t, "v second", login("c1"))
		time.Sleep(5 * time.Second)
		user, password, _, err := lacking.Login("c1")
		require.NoError(t, err)
		require.Equal(t, "v second", user+" "+password)
	})
}

// TestStepWithStoredCredential: a step that names a stored credential runs with it, once the
// configuration permits its server, and with the one of the configuration if both have the name.
func TestStepWithStoredCredential(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		k, ref := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		f.exec(t, "master", "CREATE LOGIN robot WITH PASSWORD = 'Only-4-tests'; CREATE LOGIN other WITH PASSWORD = 'Only-4-others';")
		f.exec(t, "db1", "CREATE USER robot; CREATE USER other;")
		setCredential(t, f.Store, "stored", "robot", "Only-4-tests", 1)
		setCredential(t, f.Store, "both", "robot", "Only-4-tests", 1)
		f.AddJob(t, "stored", []string{"IF ORIGINAL_LOGIN() <> N'robot' THROW 60000, N'not robot', 1;"}, retries(0, 1), credentialOf("stored"))
		f.AddJob(t, "both", []string{"IF ORIGINAL_LOGIN() <> N'other' THROW 60000, N'not other', 1;"}, retries(0, 1), credentialOf("both"))
		f.AddJob(t, "unknown", []string{"SELECT 1;"}, retries(0, 1), credentialOf("unknown"))

		start := func(servers ...string) (stop func()) {
			tools := agents.Tools(t, f.Env, f.Store)
			set, err := mssql.NewCredentialSet(mssql.LoginCredential("both", "other", "Only-4-others", "*"))
			require.NoError(t, err)
			set, err = set.WithStored(agent.NewStoredCredentials(f.Store, []string{ref}, zap.NewNop()).Login, servers...)
			require.NoError(t, err)
			tools.Runner = mssql.NewRunner(f.ServersWith(t, set), targets.Limits{})
			hosting, err := agent.New(agent.Config{PollIdle: time.Second}, f.Store, tools, nil, zaptest.NewLogger(t))
			require.NoError(t, err)
			return agents.Run(t, hosting)
		}
		run := func(job string) executions.Execution {
			rows := f.ended(t, f.Start(t, job), time.Minute)
			return rows[len(rows)-1]
		}
		stop := start()
		require.Contains(t, run("stored").LastMessage, "targets.stored_credential_servers")
		stop()
		stop = start("*.example.com")
		require.Contains(t, run("stored").LastMessage, "it may not be used on server")
		stop()
		stop = start("*")
		last := run("stored")
		require.Equal(t, jobs.Succeeded, last.Lifecycle, last.LastMessage)
		last = run("both")
		require.Equal(t, jobs.Succeeded, last.Lifecycle, last.LastMessage)
		require.Contains(t, run("unknown").LastMessage, "neither the agent's configuration nor the control database has such a credential")
		stop()
	})
}

// TestChangedCredentialOfTheNextRun: a run uses the password that was stored before its start, also
// if the agent has just used the earlier one.
func TestChangedCredentialOfTheNextRun(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		k, ref := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		f.exec(t, "master", "CREATE LOGIN robot WITH PASSWORD = 'Only-4-tests';")
		f.exec(t, "db1", "CREATE USER robot;")
		setCredential(t, f.Store, "stored", "robot", "Only-4-tests", 1)
		f.AddJob(t, "stored", []string{"SELECT 1;"}, retries(0, 1), credentialOf("stored"))
		stored := agent.NewStoredCredentials(f.Store, []string{ref}, zap.NewNop())
		tools := agents.Tools(t, f.Env, f.Store)
		var set *mssql.CredentialSet
		set, err := set.WithStored(stored.Login, "*")
		require.NoError(t, err)
		tools.Runner = mssql.NewRunner(f.ServersWith(t, set), targets.Limits{})
		tools.OnClaim = append(tools.OnClaim, stored.Expire)
		hosting, err := agent.New(agent.Config{}, f.Store, tools, nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		stop := agents.Run(t, hosting)
		defer stop()
		for i, password := range []string{"Only-4-tests", "Only-5-tests", "Only-6-tests"} {
			if i > 0 {
				f.exec(t, "master", "ALTER LOGIN robot WITH PASSWORD = '"+password+"';")
				setCredential(t, f.Store, "stored", "robot", password, i+1)
			}
			rows := f.ended(t, f.Start(t, "stored"), time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[len(rows)-1].LastMessage)
		}
	})
}

// TestSecretsAreReadOnce: those who need a secret at the same time share one read, also its absence
// for logins; and a failed read is not kept.
func TestSecretsAreReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		k, ref := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		setSecret(t, f.Store, "api", "first", 1, k)
		s := agent.NewSecrets(f.Store, nil, []string{ref}, zap.NewNop())
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		get := func(want string) {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					_, err := s.Get(canceled, "api")
					if err != nil {
						assert.NotErrorIs(t, err, agent.ErrNoSecret)
					}
					got, err := s.Get(t.Context(), "api")
					assert.NoError(t, err)
					assert.Equal(t, action.Secret(want), got)
				})
			}
			all.Wait()
		}
		get("first")
		setSecret(t, f.Store, "api", "second", 2, k)
		get("first") // within 5 s, and nothing was claimed
		s.Expire()
		get("second")
	})
}

// credentialOf sets the credential of a step.
func credentialOf(name string) func(*model.StepSpec) {
	return func(s *model.StepSpec) { s.Credential = &name }
}
