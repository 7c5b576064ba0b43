package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/agent/rest/internal/etag"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/access"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/jobs/wording"
)

// credentialInput is the body of PUT credential.
type credentialInput struct {
	envelope
	Properties struct {
		Username string `json:"username" body:"required"`
		// Password may be absent if the stored one stays.
		Password body.Field[string] `json:"password,omitzero"`
	} `json:"properties" body:"required"`
}

// credentialView is a credential in an answer. It never has a password.
type credentialView struct {
	envelope
	Properties struct {
		Username string `json:"username"`
	} `json:"properties"`
}

const (
	credentialPath = agentPath + "/credentials"
	// sealAttempts is how often a password is sealed again, because another session has set it or a
	// key was added meanwhile.
	sealAttempts = 10
)

// credentialOperations are A6 to A9.
func (s *Surface) credentialOperations() []rest.Operation {
	one := reflect.TypeFor[credentialView]()
	return []rest.Operation{
		s.get("JobCredentials_ListByAgent", credentialPath, (*place).listCredentials,
			"Lists the stored credentials of a job agent.", reflect.TypeFor[list[credentialView]](), pageParameters...),
		rest.Versioned(s.get("JobCredentials_Get", credentialPath+"/{credential}", (*place).getCredential, "Gets a stored credential, without its password.", one)),
		rest.Versioned(s.change(http.MethodPut, "JobCredentials_CreateOrUpdate", credentialPath+"/{credential}", rest.RoleAdmin, (*place).putCredential,
			"Creates or replaces a credential. Its password is stored sealed for the agents.", reflect.TypeFor[credentialInput](), one, http.StatusCreated)),
		rest.Versioned(s.delete("JobCredentials_Delete", credentialPath+"/{credential}", rest.RoleAdmin, (*place).deleteCredential, "Deletes a stored credential.")),
	}
}

// credentialView describes a credential.
func (at *place) credentialView(c access.Credential) credentialView {
	v := credentialView{envelope: envelope{ID: at.id("credentials", c.Name), Name: c.Name, Type: typeCredential}}
	v.Properties.Username = c.Username
	return v
}

func (at *place) listCredentials(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerNames(ctx, at, r, "credentials", access.On(at.store).Credentials, nil, func(o access.Credential) string { return o.Name }, at.credentialView)
}

func (at *place) getCredential(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["credential"]
	credential, err := access.On(at.store).Credential(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrCredentialNotFound, typeCredential, name)
	}
	return at.answerCredential(http.StatusOK, credential), nil
}

func (at *place) answerCredential(status int, credential access.Credential) *rest.Response {
	v := at.credentialView(credential)
	return tagged(status, v.ID, credential.Revision, v)
}

// configured refuses to change a credential that agents have in their configuration.
func (s *Surface) configured(name string) error {
	if !s.cfg.HasCredential(name) {
		return nil
	}
	return &rest.Error{
		Status: http.StatusForbidden, Code: codeCredential,
		Message: fmt.Sprintf("The credential '%s' is in the configuration of the agents, which takes precedence. Change it there.", name),
	}
}

func (at *place) putCredential(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["credential"]
	if err := checkName(typeCredential, name); err != nil {
		return nil, err
	}
	if err := at.configured(name); err != nil {
		return nil, err
	}
	in, err := at.readCredential(r, name)
	if err != nil {
		return nil, err
	}
	var put controldb.Put[access.Credential]
	for attempt := 1; ; attempt++ {
		put, err = at.storeCredential(ctx, r, name, in)
		again := errors.Is(err, dberror.ErrSecretChanged) || errors.Is(err, dberror.ErrSecretKeysChanged)
		if !again || attempt == sealAttempts {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return at.answerCredential(statusOf(put.Created), put.Object), nil
}

// readCredential reads the body of PUT credential.
func (at *place) readCredential(r *rest.Request, name string) (credentialInput, error) {
	var in credentialInput
	if err := decode(r, &in); err != nil {
		return in, err
	}
	var f faults
	in.check(&f, at.id("credentials", name), name, typeCredential)
	password := in.Properties.Password
	if password.Set && (password.Null || password.Value == "") {
		f.add("$.properties.password", "The password is empty: leave it out to keep the stored one.")
	}
	if len(password.Value) > secret.MaxLength {
		f.add("$.properties.password", "The password is too long: want at most %d bytes.", secret.MaxLength)
	}
	if err := f.err(); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Properties.Username) == "" || wording.Length(in.Properties.Username, wording.UTF16) > maxName {
		return in, badRequest(codeUsername, "$.properties.username", "The user name of a credential is invalid: want 1 to %d characters.", maxName)
	}
	return in, nil
}

// storeCredential seals the password as the next version of the stored one, and stores both.
func (at *place) storeCredential(ctx context.Context, r *rest.Request, name string, in credentialInput) (put controldb.Put[access.Credential], err error) {
	current, err := access.On(at.store).Credential(ctx, name)
	missing := errors.Is(err, dberror.ErrCredentialNotFound)
	if err != nil && !missing {
		return put, err
	}
	match, err := etag.Parse(r.HTTP.Header).Expect(at.id("credentials", current.Name), current.Revision)
	if err != nil {
		return put, err
	}
	var sealed string
	if password, ok := in.Properties.Password.Get(); ok {
		if !missing {
			name = current.Name // what a value is sealed for is the stored spelling
		}
		sealed, err = secrets.On(at.store).Seal(ctx, secret.Place{
			Owner: secret.OwnerCredential, Name: name, Version: current.SecretVersion + 1,
		}, password)
		if err != nil {
			return put, err
		}
	}
	return access.On(at.store).SetCredential(ctx, name, in.Properties.Username, sealed, match)
}

func (at *place) deleteCredential(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["credential"]
	if err := at.configured(name); err != nil {
		return nil, err
	}
	match, err := expect(r, dberror.ErrCredentialNotFound, func() (string, int64, error) {
		current, err := access.On(at.store).Credential(ctx, name)
		return at.id("credentials", current.Name), current.Revision, err
	})
	if err != nil {
		return nil, err
	}
	return deleted(access.On(at.store).DeleteCredential(ctx, name, match), dberror.ErrCredentialNotFound)
}
