package agent_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/testenv"
)

// keyFile writes a new private key to a file and returns it with a reference to the file.
func keyFile(t *testing.T) (secret.PrivateKey, string) {
	t.Helper()
	k, err := secret.GenerateKey(rand.Reader)
	require.NoError(t, err)
	text, err := k.Text()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return k, "file:" + path
}

// setSecret seals a value for keys and stores it.
func setSecret(t *testing.T, store *controldb.Store, name, value string, version int, keys ...secret.PrivateKey) {
	t.Helper()
	id, err := secrets.On(store).DatabaseID(t.Context())
	require.NoError(t, err)
	var public []secret.PublicKey
	for _, k := range keys {
		public = append(public, k.Public())
	}
	s, err := secret.Seal(rand.Reader, secret.Place{Database: id.String(), Name: name, Version: version}, value, public)
	require.NoError(t, err)
	require.NoError(t, secrets.On(store).Set(t.Context(), name, s, version))
}

func TestSecretsOfTheConfigurationTakePrecedence(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		k, ref := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		setSecret(t, f.Store, "api", "sealed value", 1, k)
		setSecret(t, f.Store, "both", "sealed value", 1, k)
		file := filepath.Join(t.TempDir(), "api")
		require.NoError(t, os.WriteFile(file, []byte("configured value\n"), 0o600))
		s := agent.NewSecrets(f.Store, map[string]agent.NamedSecret{
			"both": {Reference: "file:" + file}, "gone": {Reference: "file:" + file + ".no"},
		}, []string{ref}, zap.NewNop())
		for name, want := range map[string]string{"api": "sealed value", "API": "sealed value", "both": "configured value"} {
			got, err := s.Get(t.Context(), name)
			require.NoError(t, err, name)
			require.Equal(t, action.Secret(want), got, name)
		}
		_, err := s.Get(t.Context(), "other")
		require.ErrorIs(t, err, agent.ErrNoSecret)
		require.ErrorContains(t, err, "neither the agent's configuration nor the control database has a secret of this name")
		_, err = s.Get(t.Context(), "gone")
		require.ErrorIs(t, err, agent.ErrNoSecret)

		// A changed secret is used after a few seconds.
		setSecret(t, f.Store, "api", "new value", 2, k)
		time.Sleep(5 * time.Second)
		got, err := s.Get(t.Context(), "api")
		require.NoError(t, err)
		require.Equal(t, action.Secret("new value"), got)

		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Get(canceled, "unread")
		require.Error(t, err)
		require.NotErrorIs(t, err, agent.ErrNoSecret, "the control database was not asked: another attempt may help")

		none := agent.NewSecrets(nil, nil, nil, zap.NewNop())
		_, err = none.Get(t.Context(), "api")
		require.ErrorIs(t, err, agent.ErrNoSecret)
	})
}

// An agent without the key says which one it lacks; an agent with the old and the new key seals the
// secret for the new one; and no agent seals it for a key that it does not have.
func TestSecretsAndKeys(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		before, beforeRef := keyFile(t)
		after, afterRef := keyFile(t)
		foreign, _ := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), before.Public()))
		setSecret(t, f.Store, "api", "value", 1, before)

		lacking := agent.NewSecrets(f.Store, nil, []string{afterRef, "file:/nonexistent/key"}, zap.NewNop())
		_, err := lacking.Get(t.Context(), "api")
		require.ErrorIs(t, err, agent.ErrNoSecret)
		require.ErrorContains(t, err, "the agent has no private key for any of "+before.Public().ID()+"; add one to secret_keys")
		require.ErrorContains(t, err, "/nonexistent/key")

		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), after.Public()))
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), foreign.Public()))
		core, logs := observer.New(zap.DebugLevel)
		both := agent.NewSecrets(f.Store, nil, []string{beforeRef, afterRef}, zap.New(core))
		for range 3 {
			got, err := both.Get(t.Context(), "api")
			require.NoError(t, err)
			require.Equal(t, action.Secret("value"), got)
		}
		require.Equal(t, 1, logs.FilterMessage("sealed a secret for further keys").Len())
		stored, err := secrets.On(f.Store).Sealed(t.Context(), "", "api")
		require.NoError(t, err)
		require.Len(t, stored.Missing, 1)
		require.Equal(t, foreign.Public().ID(), stored.Missing[0].ID())
		require.NoError(t, secrets.On(f.Store).RetireKey(t.Context(), before.Public().ID()))
		time.Sleep(5 * time.Second)
		got, err := lacking.Get(t.Context(), "api")
		require.NoError(t, err)
		require.Equal(t, action.Secret("value"), got)

		_, err = secrets.On(f.Store).Sealed(t.Context(), "", "api")
		require.NoError(t, err)
		f.exec(t, "control", "UPDATE s SET s.ciphertext = 0x00112233445566778899AABBCCDDEEFF0011223344 FROM jobs_internal.secrets AS s;")
		time.Sleep(5 * time.Second)
		_, err = lacking.Get(t.Context(), "api")
		require.ErrorIs(t, err, agent.ErrNoSecret)
		require.ErrorIs(t, err, secret.ErrBroken)
	})
}

// Nobody who has the control database can let agents send a secret to other hosts: the agent does
// not open it any more.
func TestStoredHostsOfASecretCannotBeChanged(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		k, ref := keyFile(t)
		require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), k.Public()))
		setSecret(t, f.Store, "api", "value", 1, k)
		id, err := secrets.On(f.Store).DatabaseID(t.Context())
		require.NoError(t, err)
		place := secret.Place{Database: id.String(), Name: "api", Version: 2, Hosts: []string{"api.example.com", "*.example.org"}}
		sealed, err := secret.Seal(rand.Reader, place, "value", []secret.PublicKey{k.Public()})
		require.NoError(t, err)
		require.NoError(t, secrets.On(f.Store).Set(t.Context(), "api", sealed, 2, place.Hosts...))
		s := agent.NewSecrets(f.Store, nil, []string{ref}, zap.NewNop())
		got, err := s.Get(t.Context(), "api")
		require.NoError(t, err)
		require.Equal(t, action.Secret("value", place.Hosts...), got)
		for _, hosts := range []string{
			"NULL", "N''", "N'[]'", "N'null'", "N'x'", `N'["*"]'`, `N'["api.example.com"]'`, `N'["api.example.com","*.example.org","evil.example"]'`,
			`N'["*.example.org","api.example.com"]'`,
		} {
			f.exec(t, "control", "UPDATE s SET s.hosts = "+hosts+" FROM jobs_internal.secrets AS s;")
			time.Sleep(5 * time.Second)
			_, err := s.Get(t.Context(), "api")
			require.ErrorIs(t, err, agent.ErrNoSecret, hosts)
			require.ErrorIs(t, err, secret.ErrBroken, hosts)
		}
	})
}

func TestReadSecretKeys(t *testing.T) {
	k, ref := keyFile(t)
	text, err := k.Text()
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte(text+"x"), 0o600))
	keys, err := agent.ReadSecretKeys([]string{text, "file:" + bad, ref})
	require.Len(t, keys, 1)
	require.Equal(t, k.Public().ID(), keys[0].Public().ID())
	require.ErrorContains(t, err, "file:"+bad+": invalid private key")
	require.ErrorContains(t, err, "invalid secret reference")
	require.NotContains(t, err.Error(), text)
}
