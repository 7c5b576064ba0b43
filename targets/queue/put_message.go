package queue

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets/outbound"
)

// storageScope is what a token of Microsoft Entra ID must be for.
const storageScope = "https://storage.azure.com/.default"

// putMessage puts a message on a Storage queue
// (https://learn.microsoft.com/rest/api/storageservices/put-message).
func (t *attempt) putMessage(ctx context.Context, q *action.StorageQueue) error {
	u, err := storageURL(q)
	if err != nil {
		return err
	}
	text, err := storageText(q, t.ActionAttempt, cmp.Or(q.EnvelopeRegion, t.cfg.Region))
	if err != nil {
		return err
	}
	auth, sas, err := t.storageAuthorization(q, u)
	if err != nil {
		return err
	}
	body := storageBody(text)
	got, err := t.exchange(ctx, auth, func(ctx context.Context) (*http.Request, error) {
		r := newPost(u, body)
		r.Header.Set("Content-Type", "application/xml")
		r.Header.Set("x-ms-version", storageVersion)
		r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
		r.Header.Set("x-ms-client-request-id", clientRequestID(t.ActionAttempt).String())
		return r, authorize(ctx, auth, r, storageScope)
	})
	if err != nil {
		return err
	}
	if got.status == http.StatusCreated {
		t.summary = "The message is on the queue."
		m, err := parseStorageAnswer(got.body)
		if err != nil {
			text := "the answer is not one of a storage queue"
			if got.broken != nil {
				text = "the answer was cut"
			}
			t.remark("MessageId", "not known: "+text)
			return nil
		}
		t.remark("MessageId", m.MessageID)
		t.remark("InsertionTime", m.InsertionTime)
		t.remark("ExpirationTime", m.ExpirationTime)
		t.remark("TimeNextVisible", m.TimeNextVisible)
		return nil
	}
	return t.storageRefusal(got, sas)
}

// storageRefusal returns the error of an answer that is not 201.
func (t *attempt) storageRefusal(got *answer, sas storageSAS) error {
	t.keepBody(got)
	fault := parseStorageFault(got.body)
	code := fault.Code
	if code == "" {
		code = t.printable(got.header.Get("x-ms-error-code"))
	}
	detail := strings.TrimPrefix(code+": "+fault.Message, ": ")
	detail = strings.TrimSuffix(detail, ": ")
	if got.status == http.StatusForbidden && sas.expiry != "" {
		detail += fmt.Sprintf(" (the SAS token is valid until %s)", t.printable(sas.expiry))
	}
	// A queue or a permission may be made between two attempts.
	retried := statusRetried(got.status) || got.status == http.StatusForbidden || got.status == http.StatusNotFound
	return refused(got, "the storage queue", detail, retried)
}

// storageAuthorization returns what authorizes the request: a token of the definition, or the
// step's credential. A SAS is added to the query of u.
func (t *attempt) storageAuthorization(q *action.StorageQueue, u *url.URL) (*outbound.Auth, storageSAS, error) {
	token := q.SASToken
	t.mask.Add(token)
	auth, err := t.cfg.Network.Authentication(t.Credential, nil, q.AllowHTTP, u, t.mask)
	switch {
	case err != nil:
		return nil, storageSAS{}, err
	case token != "" && auth != nil:
		return nil, storageSAS{}, faultf(
			"the definition has a sas_token, and the step names the credential %q: want one of them", t.Credential)
	case token == "" && auth == nil:
		return nil, storageSAS{}, faultf("nothing authorizes the message: " +
			"want sas_token in the definition, or a credential of the step")
	case auth != nil:
		switch auth.Kind() {
		case outbound.KindSASToken:
			token = auth.Secret()
		case outbound.KindOAuth2, outbound.KindManagedIdentity, outbound.KindAzureDefault, outbound.KindBearer:
			return auth, storageSAS{}, nil
		default:
			return nil, storageSAS{}, auth.Error(fmt.Errorf(
				"kind %s does not authorize messages of a storage queue: want %s, %s, %s or %s", auth.Kind(),
				outbound.KindSASToken, outbound.KindOAuth2, outbound.KindManagedIdentity, outbound.KindAzureDefault))
		}
	}
	sas, err := parseStorageSAS(token)
	if err != nil {
		return nil, storageSAS{}, err
	}
	t.mask.Add(sas.secrets...)
	t.mask.Add(sas.query)
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += sas.query
	return auth, sas, nil
}
