package secrets

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/secret"
)

// Key is a row of the view jobs.secret_keys.
type Key struct {
	ID        string `db:"key_id"`
	PublicKey []byte `db:"public_key"`
	// Active is false for a key that was retired.
	Active bool `db:"is_active"`
	// Secrets is the number of secrets that the key can open. SecretsOnly is the number of those
	// that no other active key can open.
	Secrets     int       `db:"secrets"`
	SecretsOnly int       `db:"secrets_only"`
	CreatedTime time.Time `db:"created_time"`
	CreatedBy   string    `db:"created_by"`
	RetiredTime time.Time `db:"retired_time"` // zero while the key is active
	RetiredBy   string    `db:"retired_by"`
}

// Keys lists the keys of secrets, the latest first.
func (s Store) Keys(ctx context.Context) ([]Key, error) {
	return call.SelectAll[Key](ctx, s.conn, "list keys", `SELECT key_id, public_key, is_active, secrets, secrets_only,
    created_time, created_by, retired_time, retired_by
FROM jobs.secret_keys
ORDER BY created_time DESC, key_id;`)
}

// AddKey adds a public key for which secrets are sealed from now on. Adding an active key
// again has no effect.
func (s Store) AddKey(ctx context.Context, key secret.PublicKey) error {
	return s.conn.Exec(ctx, "add key", call.New("jobs.sp_add_secret_key").In("public_key", key.Bytes()))
}

// RetireKey retires a key. The procedure refuses while a secret is sealed for this key alone.
func (s Store) RetireKey(ctx context.Context, id string) error {
	return s.conn.Exec(ctx, "retire key", call.New("jobs.sp_retire_secret_key").In("key_id", id))
}

// Secret is a sealed secret. Its fields are those of the view jobs.secrets.
type Secret struct {
	Name        string    `db:"secret_name" json:"secret_name"`
	Version     int       `db:"version" json:"version"`
	Hosts       []string  `db:"hosts" json:"hosts"`               // patterns of the hosts that may receive it; null: any host
	Keys        int       `db:"keys" json:"keys"`                 // active keys that can open it
	MissingKeys int       `db:"missing_keys" json:"missing_keys"` // active keys that cannot
	CreatedTime time.Time `db:"created_time" json:"created_time,omitzero"`
	UpdatedTime time.Time `db:"updated_time" json:"updated_time,omitzero"`
	UpdatedBy   string    `db:"updated_by" json:"updated_by"`
	// Owner is empty for a secret that authors set; see [secret.OwnerREST] and
	// [secret.OwnerCredential].
	Owner string `db:"owner" json:"-"`
}

// Secrets lists the sealed secrets that authors set, by name; name restricts the list unless it is
// empty.
func (s Store) Secrets(ctx context.Context, name string) ([]Secret, error) {
	w := call.NewFilter(0)
	w.Add("owner = %s", "")
	if name != "" {
		w.Add("secret_name = %s", name)
	}
	return call.SelectAll[Secret](ctx, s.conn, "list secrets", `SELECT TOP (@p1) secret_name, version, keys, missing_keys,
    created_time, updated_time, updated_by, hosts, owner
FROM jobs.secrets`+w.Text()+`
ORDER BY secret_name;`, w.Args...)
}

// All lists the sealed secrets of all owners, by owner and name.
func (s Store) All(ctx context.Context) ([]Secret, error) {
	return call.SelectAll[Secret](ctx, s.conn, "list all secrets", `SELECT secret_name, version, keys, missing_keys,
    created_time, updated_time, updated_by, hosts, owner
FROM jobs.secrets
ORDER BY owner, secret_name;`)
}

// DatabaseID returns the identity of the control database, to which sealed secrets are bound.
func (s Store) DatabaseID(ctx context.Context) (uuid.UUID, error) {
	list, err := call.SelectAll[struct {
		ID uuid.UUID `db:"database_id"`
	}](ctx, s.conn, "read the database's identity", `SELECT database_id FROM jobs.control_database;`)
	if err != nil || len(list) == 0 {
		return uuid.Nil, err
	}
	return list[0].ID, nil
}

// Seal seals a value for the active keys, and returns the text that procedures take as
// @sealed. place.Database is filled in. The error wraps [dberror.ErrSecretKeysChanged] if there is
// no active key; errors do not contain the value.
func (s Store) Seal(ctx context.Context, place secret.Place, value string) (string, error) {
	id, err := s.DatabaseID(ctx)
	if err != nil {
		return "", err
	}
	place.Database = id.String()
	keys, err := s.Keys(ctx)
	if err != nil {
		return "", err
	}
	var recipients []secret.PublicKey
	for _, k := range keys {
		if !k.Active {
			continue
		}
		public, err := secret.NewPublicKey(k.PublicKey)
		if err != nil {
			return "", fmt.Errorf("key %s: %w", k.ID, err)
		}
		recipients = append(recipients, public)
	}
	if len(recipients) == 0 {
		return "", fmt.Errorf("%w: the control database has no active key for secrets; make one with jobagent key generate",
			dberror.ErrSecretKeysChanged)
	}
	sealed, err := secret.Seal(rand.Reader, place, value, recipients)
	if err != nil {
		return "", fmt.Errorf("seal secret: %w", err)
	}
	return sealed.JSON(place.Version, place.Hosts...), nil
}

// Set stores a sealed value as the given version of a secret. Version and hosts are those for
// which the value was sealed. Set returns [dberror.ErrSecretKeysChanged] or
// [dberror.ErrSecretChanged] when the value has to be sealed again.
func (s Store) Set(ctx context.Context, name string, sealed secret.Sealed, version int, hosts ...string) error {
	return s.conn.Exec(ctx, "set secret",
		call.New("jobs.sp_set_secret").In("name", name).In("sealed", sealed.JSON(version, hosts...)))
}

// Delete deletes a secret. It returns [dberror.ErrSecretNotFound] when no secret has this
// name.
func (s Store) Delete(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete secret", call.New("jobs.sp_delete_secret").In("name", name))
}

// Sealed is a sealed secret as it is stored.
type Sealed struct {
	Place  secret.Place
	Sealed secret.Sealed
	// Missing are the active keys that cannot open it.
	Missing []secret.PublicKey
}

// Sealed reads a sealed secret; only agents may. It returns [dberror.ErrSecretNotFound] when
// no secret has this name. The owner is empty for secrets that authors set.
func (s Store) Sealed(ctx context.Context, owner, name string) (Sealed, error) {
	var res Sealed
	err := ReadSealed(ctx, s.conn, "read secret", call.New("jobs_internal.get_secret").In("name", name).In("owner", owner), &res)
	res.Place.Owner = owner
	return res, err
}

// ReadSealed calls a procedure whose last two result sets are those of get_secret. first are the
// result sets before them. It is for the packages below controldb.
func ReadSealed(ctx context.Context, conn *call.Conn, op string, c *call.Call, res *Sealed, first ...func(*sqlx.Rows) error) error {
	var (
		database uuid.UUID
		hosts    sql.NullString
		keys     []struct {
			ID        string `db:"key_id"`
			PublicKey []byte `db:"public_key"`
			Data      []byte `db:"data"`
		}
	)
	err := conn.Query(ctx, op, c, append(first,
		call.ScanOne(&database, &res.Place.Name, &res.Place.Version, &res.Sealed.Nonce, &res.Sealed.Ciphertext, &hosts), call.Into(&keys))...)
	if err != nil {
		return err
	}
	res.Place.Database = database.String()
	if hosts.Valid {
		if err := json.Unmarshal([]byte(hosts.String), &res.Place.Hosts); err != nil || len(res.Place.Hosts) == 0 {
			// The text was changed. The secret was not sealed for it, and so cannot be opened.
			res.Place.Hosts = []string{hosts.String}
		}
	}
	for _, k := range keys {
		if k.Data != nil {
			res.Sealed.Keys = append(res.Sealed.Keys, secret.SealedKey{ID: k.ID, Data: k.Data})
			continue
		}
		if key, err := secret.NewPublicKey(k.PublicKey); err == nil {
			res.Missing = append(res.Missing, key)
		}
	}
	return nil
}

// Reseal stores data keys that were sealed for further keys; only agents may. A secret that
// has another version by now stays unchanged.
func (s Store) Reseal(ctx context.Context, place secret.Place, keys []secret.SealedKey) error {
	return s.conn.Exec(ctx, "seal secret for further keys", call.New("jobs_internal.reseal_secret").In("name", place.Name).
		In("version", int64(place.Version)).In("keys", secret.KeysJSON(keys)).In("owner", place.Owner))
}
