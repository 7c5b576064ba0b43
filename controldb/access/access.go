package access

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Credential is a row of the view jobs.credentials.
type Credential struct {
	Name        string    `db:"credential_name"`
	Username    string    `db:"username"`
	CreatedTime time.Time `db:"created_time"`
	UpdatedTime time.Time `db:"updated_time"`
	UpdatedBy   string    `db:"updated_by"`
	// SecretVersion is the version of the sealed password.
	SecretVersion int   `db:"secret_version"`
	Revision      int64 `db:"revision"`
}

// SetCredential stores a credential. sealed is the password, sealed by SealSecret as the next
// version of the secret of this name and the owner [secret.OwnerCredential]; empty means that the
// stored password stays.
func (s Store) SetCredential(ctx context.Context, name, username, sealed string, ifMatch *int64) (controldb.Put[Credential], error) {
	c := call.New("jobs.sp_set_credential").In("credential_name", name).In("username", username).OptText("sealed", sealed)
	return controldb.PutObject[Credential](ctx, s.conn, "set credential", c, ifMatch, credentialQuery, name)
}

// DeleteCredential deletes a stored credential. It returns [dberror.ErrCredentialNotFound] when
// there is none of this name.
func (s Store) DeleteCredential(ctx context.Context, name string, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_credential").In("credential_name", name)
	return s.conn.Exec(ctx, "delete credential", call.Opt(c, "if_match", ifMatch))
}

// PrivateEndpoint is a row of the view jobs.private_endpoints.
type PrivateEndpoint struct {
	Name       string `db:"private_endpoint_name"`
	EndpointID string `db:"private_endpoint_id"`
	// Target is the resource id of the target's server.
	Target   string `db:"target_server_resource_id"`
	Revision int64  `db:"revision"`
}

// SetPrivateEndpoint stores a private endpoint, which has no effect.
func (s Store) SetPrivateEndpoint(ctx context.Context, name, target string, ifMatch *int64) (controldb.Put[PrivateEndpoint], error) {
	c := call.New("jobs.sp_set_private_endpoint").In("private_endpoint_name", name).In("target_server_resource_id", target)
	return controldb.PutObject[PrivateEndpoint](ctx, s.conn, "set private endpoint", c, ifMatch, endpointQuery, name)
}

// DeletePrivateEndpoint deletes a private endpoint. It returns [dberror.ErrEndpointNotFound] when
// there is none of this name.
func (s Store) DeletePrivateEndpoint(ctx context.Context, name string, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_private_endpoint").In("private_endpoint_name", name)
	return s.conn.Exec(ctx, "delete private endpoint", call.Opt(c, "if_match", ifMatch))
}

const credentialColumns = `SELECT credential_name, username, created_time, updated_time, updated_by, secret_version, revision
FROM jobs.credentials`

const credentialQuery = credentialColumns + "\nWHERE credential_name = @p1;"

// Credential returns a stored credential. It returns [dberror.ErrCredentialNotFound] when there is
// none of this name.
func (s Store) Credential(ctx context.Context, name string) (Credential, error) {
	list, err := call.SelectAll[Credential](ctx, s.conn, "read credential", credentialQuery, name)
	return call.OnlyRow(list, err, "read credential", dberror.ErrCredentialNotFound)
}

// Credentials lists the stored credentials by name.
func (s Store) Credentials(ctx context.Context, p controldb.Page[string]) ([]Credential, error) {
	w := p.Filter("credential_name", ">")
	return call.SelectAll[Credential](ctx, s.conn, "list credentials",
		credentialColumns+w.Text()+"\nORDER BY credential_name"+p.Text(w)+";", w.Args...)
}

const endpointColumns = `SELECT private_endpoint_name, private_endpoint_id, target_server_resource_id, revision
FROM jobs.private_endpoints`

const endpointQuery = endpointColumns + "\nWHERE private_endpoint_name = @p1;"

// PrivateEndpoint returns a private endpoint. The error is [dberror.ErrEndpointNotFound] when none
// has this name.
func (s Store) PrivateEndpoint(ctx context.Context, name string) (PrivateEndpoint, error) {
	list, err := call.SelectAll[PrivateEndpoint](ctx, s.conn, "read private endpoint", endpointQuery, name)
	return call.OnlyRow(list, err, "read private endpoint", dberror.ErrEndpointNotFound)
}

// PrivateEndpoints lists the private endpoints by name.
func (s Store) PrivateEndpoints(ctx context.Context, p controldb.Page[string]) ([]PrivateEndpoint, error) {
	w := p.Filter("private_endpoint_name", ">")
	return call.SelectAll[PrivateEndpoint](ctx, s.conn, "list private endpoints",
		endpointColumns+w.Text()+"\nORDER BY private_endpoint_name"+p.Text(w)+";", w.Args...)
}
