package secrets

import (
	"context"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/secret"
)

// Credential is a stored credential with its sealed password.
type Credential struct {
	Username string
	Secret   Sealed
}

// Credential reads a stored credential; only agents may. It returns
// [dberror.ErrCredentialNotFound] when there is none of this name.
func (s Store) Credential(ctx context.Context, name string) (Credential, error) {
	var res Credential
	err := ReadSealed(ctx, s.conn, "read credential", call.New("jobs_internal.get_credential").In("name", name), &res.Secret,
		call.ScanOne(&res.Username))
	res.Secret.Place.Owner = secret.OwnerCredential
	return res, err
}
