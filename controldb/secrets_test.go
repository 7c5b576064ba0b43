package controldb_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/testenv"
)

func newSecretKey(t *testing.T) secret.PrivateKey {
	t.Helper()
	k, err := secret.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return k
}

// seal seals a value for keys as the given version.
func (c *control) seal(t *testing.T, name, value string, version int, keys ...secret.PrivateKey) secret.Sealed {
	t.Helper()
	id, err := secrets.On(c.Store).DatabaseID(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, id)
	var public []secret.PublicKey
	for _, k := range keys {
		public = append(public, k.Public())
	}
	s, err := secret.Seal(rand.Reader, secret.Place{Database: id.String(), Name: name, Version: version}, value, public)
	require.NoError(t, err)
	return s
}

// open reads a secret and opens it.
func (c *control) open(t *testing.T, name string, keys ...secret.PrivateKey) (string, error) {
	t.Helper()
	s, err := secrets.On(c.Store).Sealed(t.Context(), "", name)
	require.NoError(t, err)
	return s.Sealed.Open(s.Place, keys)
}

// Secrets are sealed for all active keys, sealed again for a new key, and the old key is retired.
func TestSecretsAndRotation(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		first, second := newSecretKey(t), newSecretKey(t)
		err := secrets.On(c.Store).Set(ctx, "api", c.seal(t, "api", "v1", 1, first), 1)
		require.ErrorIs(t, err, dberror.ErrSecretKeysChanged)
		require.ErrorContains(t, err, "Make one with jobagent key generate")

		require.NoError(t, secrets.On(c.Store).AddKey(ctx, first.Public()))
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, first.Public()), "a second call has no effect")
		require.NoError(t, secrets.On(c.Store).Set(ctx, "api", c.seal(t, "api", "v1", 1, first), 1))
		require.NoError(t, secrets.On(c.Store).Set(ctx, "api", c.seal(t, "api", "v2", 2, first), 2))
		value, err := c.open(t, "api", first)
		require.NoError(t, err)
		require.Equal(t, "v2", value)
		require.ErrorIs(t, secrets.On(c.Store).Set(ctx, "api", c.seal(t, "api", "v2", 2, first), 2), dberror.ErrSecretChanged)
		require.ErrorIs(t, secrets.On(c.Store).Set(ctx, "new", c.seal(t, "new", "v2", 2, first), 2), dberror.ErrSecretChanged)

		// A key is added. New values must be sealed for it, too.
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, second.Public()))
		require.ErrorIs(t, secrets.On(c.Store).Set(ctx, "new", c.seal(t, "new", "x", 1, first), 1), dberror.ErrSecretKeysChanged)
		require.NoError(t, secrets.On(c.Store).Set(ctx, "new", c.seal(t, "new", "x", 1, first, second), 1))
		err = secrets.On(c.Store).RetireKey(ctx, first.Public().ID())
		require.ErrorContains(t, err, "1 secrets are sealed for it alone, among them 'api'")
		require.Equal(t, dberror.KindConflict, dberror.KindOf(err))
		list, err := secrets.On(c.Store).Secrets(ctx, "")
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, [][3]int{{2, 1, 1}, {1, 2, 0}},
			[][3]int{{list[0].Version, list[0].Keys, list[0].MissingKeys}, {list[1].Version, list[1].Keys, list[1].MissingKeys}})
		keys, err := secrets.On(c.Store).Keys(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{second.Public().ID(), first.Public().ID()}, []string{keys[0].ID, keys[1].ID})
		require.Equal(t, [][2]int{{1, 0}, {2, 1}}, [][2]int{{keys[0].Secrets, keys[0].SecretsOnly}, {keys[1].Secrets, keys[1].SecretsOnly}})
		require.Equal(t, first.Public().Bytes(), keys[1].PublicKey)

		s, err := secrets.On(c.Store).Sealed(ctx, "", "api")
		require.NoError(t, err)
		require.Len(t, s.Missing, 1)
		require.Equal(t, second.Public().ID(), s.Missing[0].ID())
		sealed, err := s.Sealed.Reseal(s.Place, []secret.PrivateKey{first, second}, s.Missing)
		require.NoError(t, err)
		stale := s.Place
		stale.Version--
		require.NoError(t, secrets.On(c.Store).Reseal(ctx, stale, sealed))
		_, err = c.open(t, "api", second)
		require.ErrorIs(t, err, secret.ErrNoKey, "a key for another version is not stored")
		require.NoError(t, secrets.On(c.Store).Reseal(ctx, s.Place, sealed))
		require.NoError(t, secrets.On(c.Store).Reseal(ctx, s.Place, sealed))
		value, err = c.open(t, "api", second)
		require.NoError(t, err)
		require.Equal(t, "v2", value)

		require.NoError(t, secrets.On(c.Store).RetireKey(ctx, first.Public().ID()))
		_, err = c.open(t, "api", first)
		require.ErrorIs(t, err, secret.ErrNoKey)
		require.ErrorContains(t, secrets.On(c.Store).RetireKey(ctx, first.Public().ID()), "No active key has the id")
		require.ErrorContains(t, secrets.On(c.Store).AddKey(ctx, first.Public()), "was retired")
		require.ErrorContains(t, secrets.On(c.Store).RetireKey(ctx, second.Public().ID()), "2 secrets are sealed for it alone")
		require.ErrorIs(t, secrets.On(c.Store).Reseal(ctx, s.Place, s.Sealed.Keys), dberror.ErrSecretKeysChanged, "not for a retired key")

		require.NoError(t, secrets.On(c.Store).Delete(ctx, "API"))
		require.ErrorIs(t, secrets.On(c.Store).Delete(ctx, "api"), dberror.ErrSecretNotFound)
		_, err = secrets.On(c.Store).Sealed(ctx, "", "api")
		require.ErrorIs(t, err, dberror.ErrSecretNotFound)
		require.NoError(t, secrets.On(c.Store).Delete(ctx, "new"))
		require.NoError(t, secrets.On(c.Store).RetireKey(ctx, second.Public().ID()))
	})
}

// A sealed secret that is copied to another name, or whose older value is put back, cannot be
// opened; neither can one of another database.
func TestSecretsAreBoundToTheirPlace(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		k := newSecretKey(t)
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, k.Public()))
		require.NoError(t, secrets.On(c.Store).Set(ctx, "a", c.seal(t, "a", "old", 1, k), 1))
		require.NoError(t, secrets.On(c.Store).Set(ctx, "b", c.seal(t, "b", "bee", 1, k), 1))
		old, err := secrets.On(c.Store).Sealed(ctx, "", "a")
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).Set(ctx, "a", c.seal(t, "a", "new", 2, k), 2))

		require.NoError(t, secrets.On(c.Store).Set(ctx, "b", old.Sealed, 2))
		_, err = c.open(t, "b", k)
		require.ErrorIs(t, err, secret.ErrBroken, "copied to another name")
		require.NoError(t, secrets.On(c.Store).Set(ctx, "a", old.Sealed, 3))
		_, err = c.open(t, "a", k)
		require.ErrorIs(t, err, secret.ErrBroken, "an older value")
		c.exec(t, "UPDATE s SET s.version = 1 FROM jobs_internal.secrets AS s WHERE s.name = N'a';")
		value, err := c.open(t, "a", k)
		require.NoError(t, err)
		require.Equal(t, "old", value)
		c.exec(t, "UPDATE i SET i.database_id = NEWID() FROM jobs_internal.control_identity AS i;")
		_, err = c.open(t, "a", k)
		require.ErrorIs(t, err, secret.ErrBroken, "another database")
	})
}

// The hosts of a secret are stored in clear, and are part of what the value is bound to.
func TestHostsOfSecrets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		k, further := newSecretKey(t), newSecretKey(t)
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, k.Public()))
		id, err := secrets.On(c.Store).DatabaseID(ctx)
		require.NoError(t, err)
		place := secret.Place{Database: id.String(), Name: "a", Version: 1, Hosts: []string{"*.example.com:443", "process:export"}}
		s, err := secret.Seal(rand.Reader, place, "value", []secret.PublicKey{k.Public()})
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).Set(ctx, "a", s, 1, place.Hosts...))
		list, err := secrets.On(c.Store).Secrets(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, place.Hosts, list[0].Hosts)
		stored, err := secrets.On(c.Store).Sealed(ctx, "", "a")
		require.NoError(t, err)
		require.Equal(t, place, stored.Place)
		value, err := c.open(t, "a", k)
		require.NoError(t, err)
		require.Equal(t, "value", value)

		// The hosts stay when the data key is sealed for a further key.
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, further.Public()))
		keys, err := stored.Sealed.Reseal(stored.Place, []secret.PrivateKey{k}, []secret.PublicKey{further.Public()})
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).Reseal(ctx, stored.Place, keys))
		value, err = c.open(t, "a", further)
		require.NoError(t, err)
		require.Equal(t, "value", value)

		for _, hosts := range []string{"NULL", "N'[]'", `N'["*"]'`, `N'["*.example.com:443","process:export","*"]'`, "N'*'"} {
			c.exec(t, "UPDATE s SET s.hosts = "+hosts+" FROM jobs_internal.secrets AS s;")
			_, err = c.open(t, "a", k)
			require.ErrorIs(t, err, secret.ErrBroken, hosts)
		}
		// A value that was sealed for some hosts cannot be stored as one for other hosts.
		s, err = secret.Seal(rand.Reader, secret.Place{Database: id.String(), Name: "a", Version: 2, Hosts: place.Hosts}, "value",
			[]secret.PublicKey{k.Public(), further.Public()})
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).Set(ctx, "a", s, 2))
		_, err = c.open(t, "a", k)
		require.ErrorIs(t, err, secret.ErrBroken)
	})
}

// TestMigrateSecrets: a database of release 0 has an identity after the migration, and takes
// secrets.
func TestMigrateSecrets(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		k := newSecretKey(t)
		require.NoError(t, secrets.On(c.Store).AddKey(t.Context(), k.Public()))
		require.NoError(t, secrets.On(c.Store).Set(t.Context(), "a", c.seal(t, "a", "value", 1, k), 1))
		value, err := c.open(t, "a", k)
		require.NoError(t, err)
		require.Equal(t, "value", value)
	})
}

// TestSecretsOfREST: a procedure of REST stores a secret for a job. Authors can neither set nor see
// such names as theirs. It is deleted when no definition names it, or with its job.
func TestSecretsOfREST(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", nil)
		jobs, err := catalog.On(c.Store).Jobs(ctx, "j")
		require.NoError(t, err)
		id := jobs[0]
		k := newSecretKey(t)
		name, err := secret.RESTName(rand.Reader)
		require.NoError(t, err)
		require.Equal(t, secret.OwnerREST, secret.OwnerOf(name))
		place := secret.Place{Owner: secret.OwnerREST, Name: name, Version: 1, Hosts: []string{"h"}}
		_, err = secrets.On(c.Store).Seal(ctx, place, "v")
		require.ErrorIs(t, err, dberror.ErrSecretKeysChanged, "no key")
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, k.Public()))
		sealed, err := secrets.On(c.Store).Seal(ctx, place, "v")
		require.NoError(t, err)
		store := func(owner, name string, job any) error {
			_, err := c.db.ExecContext(ctx,
				`EXECUTE jobs_internal.store_secret @owner = @p1, @name = @p2, @sealed = @p3, @job_id = @p4;`, owner, name, sealed, job)
			return err
		}
		require.NoError(t, store("rest", name, id.ID.String()))
		require.ErrorContains(t, store("rest", "rest-1", id.ID.String()), "32 hexadecimal digits")
		require.ErrorContains(t, store("rest", name, nil), "for the owner rest only")
		require.ErrorContains(t, store("other", name, nil), "a known @owner")

		stored, err := secrets.On(c.Store).Sealed(ctx, secret.OwnerOf(name), name)
		require.NoError(t, err)
		value, err := stored.Sealed.Open(stored.Place, []secret.PrivateKey{k})
		require.NoError(t, err)
		require.Equal(t, "v", value)
		wrong := stored.Place
		wrong.Owner = ""
		_, err = stored.Sealed.Open(wrong, []secret.PrivateKey{k})
		require.ErrorIs(t, err, secret.ErrBroken, "bound to its owner")
		list, err := secrets.On(c.Store).Secrets(ctx, "")
		require.NoError(t, err)
		require.Empty(t, list)
		list, err = secrets.On(c.Store).All(ctx)
		require.NoError(t, err)
		require.Len(t, list, 1)
		err = secrets.On(c.Store).Set(ctx, "Rest-x", c.seal(t, "Rest-x", "v", 1, k), 1)
		require.ErrorContains(t, err, "reserved")

		purge := func(days int) {
			c.exec(t, `DECLARE @now DATETIME2(7) = DATEADD(DAY, @p1, SYSUTCDATETIME()); EXECUTE jobs_internal.delete_secrets @now = @now;`, days)
		}
		count := func() int {
			list, err := secrets.On(c.Store).All(ctx)
			require.NoError(t, err)
			return len(list)
		}
		purge(0)
		require.Equal(t, 1, count(), "new secrets stay")
		c.exec(t, `UPDATE c SET c.command = CONCAT(N'{"x":"$(secret.', @p1, N')"}') FROM jobs_internal.step_commands AS c;`, name)
		purge(2)
		require.Equal(t, 1, count(), "a stored definition names it")
		c.exec(t, `UPDATE c SET c.command = N'{}' FROM jobs_internal.step_commands AS c;`)
		purge(2)
		require.Equal(t, 0, count())
		require.NoError(t, store("rest", name, id.ID.String()))
		require.NoError(t, catalog.On(c.Store).DeleteJob(ctx, "j", false))
		require.Equal(t, 0, count(), "deleted with the job")
	})
}

// TestSecretIsReadAsOneState: a value comes with the data keys of its version, whatever is stored
// meanwhile, and a password with the user name of its version.
func TestSecretIsReadAsOneState(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `INSERT INTO jobs_internal.secret_keys (key_id, public_key, is_active, created_at, created_by) VALUES (N'k', 0x01, 1, SYSUTCDATETIME(), N'x');
INSERT INTO jobs_internal.secrets (owner, name, version, nonce, ciphertext, created_at, updated_at, updated_by) VALUES (N'', N's', 1, 0x01, 0x00000001, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');
INSERT INTO jobs_internal.credentials (name, username, created_at, updated_at, updated_by) VALUES (N's', N'1', SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');
INSERT INTO jobs_internal.secrets (owner, name, version, nonce, ciphertext, created_at, updated_at, updated_by) VALUES (N'credential', N's', 1, 0x01, 0x01, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');
INSERT INTO jobs_internal.secret_data_keys (secret_id, key_id, data) SELECT s.secret_id, N'k', 0x00000001 FROM jobs_internal.secrets AS s;`)
		stored := make(chan error, 1)
		go func() { // ends after 300 changes
			_, err := c.db.ExecContext(ctx, `DECLARE @n INT = 2;
WHILE @n < 300
BEGIN
    BEGIN TRANSACTION;
    UPDATE jobs_internal.secrets SET version = @n, ciphertext = CAST(@n AS BINARY(4));
    UPDATE jobs_internal.secret_data_keys SET data = CAST(@n AS BINARY(4));
    UPDATE jobs_internal.credentials SET username = @n;
    COMMIT TRANSACTION;
    SET @n = @n + 1;
END;`)
			stored <- err
		}()
		for done := false; !done; {
			select {
			case err := <-stored:
				require.NoError(t, err)
				done = true
			default:
			}
			var value, key []byte
			rows, err := c.db.QueryContext(ctx, "EXECUTE jobs_internal.get_secret @name = N's';")
			require.NoError(t, err)
			require.True(t, rows.Next(), "%v", rows.Err())
			require.NoError(t, rows.Scan(new(any), new(any), new(any), new(any), &value, new(any)))
			require.False(t, rows.Next())
			require.True(t, rows.NextResultSet())
			require.True(t, rows.Next(), "%v", rows.Err())
			require.NoError(t, rows.Scan(new(any), new(any), &key))
			require.NoError(t, rows.Close())
			require.Equal(t, value, key)

			var username string
			var version int
			rows, err = c.db.QueryContext(ctx, "EXECUTE jobs_internal.get_credential @name = N's';")
			require.NoError(t, err)
			require.True(t, rows.Next(), "%v", rows.Err())
			require.NoError(t, rows.Scan(&username))
			require.False(t, rows.Next())
			require.True(t, rows.NextResultSet())
			require.True(t, rows.Next(), "%v", rows.Err())
			require.NoError(t, rows.Scan(new(any), new(any), &version, new(any), new(any), new(any)))
			require.NoError(t, rows.Close())
			require.Equal(t, fmt.Sprint(version), username)
		}
	})
}
