package queue

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// withCredential returns a change of a configuration that adds a credential for every host. Its
// secret is in an environment variable.
func withCredential(t *testing.T, kind outbound.CredentialKind, user, secret string) func(*outbound.Config) {
	t.Helper()
	t.Setenv("QUEUE_TEST_SECRET", secret)
	return func(c *outbound.Config) {
		c.Credentials = []outbound.Credential{{Name: "Queue", Hosts: []string{"*"}, Kind: kind, User: user, Secret: "env:QUEUE_TEST_SECRET"}}
	}
}

// named makes a step name the credential.
func named(a *targets.ActionAttempt) { a.Credential = "queue" }

func TestStorageCredential(t *testing.T) {
	q := &storageService{}
	token := q.token("jobs")
	s := serve(t, q.ServeHTTP, withCredential(t, outbound.KindSASToken, "", "?"+token+"\n"))
	d := withStorage(action.StorageQueue{Account: s.URL + "/account", Queue: "jobs", Message: "m"})
	res := run(t, s.network, d, named)
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
	require.Len(t, q.stored(), 1)

	d.StorageQueue.SASToken = token
	res = run(t, s.network, d, named)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Contains(t, res.Summary, "want one of them")
	require.True(t, res.NoRetry)
	require.Len(t, q.stored(), 1)
}

func TestServiceBusCredential(t *testing.T) {
	b := &busService{key: "the-shared-key"}
	s := serve(t, b.ServeHTTP, withCredential(t, outbound.KindSharedAccessKey, "send", b.key))
	d := withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q", Message: "m"})
	res := run(t, s.network, d, named)
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))

	// A signature that was made elsewhere is sent as it is.
	signature := signServiceBus("https://"+s.host+"/q", "send", b.key, time.Now().Add(time.Hour))
	t.Setenv("QUEUE_TEST_SECRET", signature)
	given := newNetwork(t, rootOf(t, s), withCredential(t, outbound.KindSASToken, "", signature))
	res = run(t, given, d, named)
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
	require.Len(t, b.messages, 2)
	require.Equal(t, signature, b.messages[1].header.Get("Authorization"))

	for _, wrong := range []string{"sv=1&sig=SECRET", "SharedAccessSignature sr=a", "SharedAccessSignature sig=SECRET\r\nX: y",
		"SharedAccessSignature sig=SECRET;Endpoint=sb://other.example"} {
		for _, amqp := range []bool{false, true} {
			d.ServiceBus.AMQP = amqp
			res = run(t, newNetwork(t, rootOf(t, s), withCredential(t, outbound.KindSASToken, "", wrong)), d, named)
			require.Equal(t, targets.Failed, res.Outcome)
			require.True(t, res.NoRetry)
			require.NotContains(t, texts(res), "SECRET")
		}
	}
}

// rootOf returns the path of the authority's certificate.
func rootOf(t *testing.T, _ *service) string {
	_, root := certificate(t)
	return root
}

// A credential of a kind that authorizes no messages is a fault that names those that do.
func TestCredentialOfAnotherKind(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }, withCredential(t, outbound.KindBasic, "u", "the-password"))
	for part, d := range map[string]*action.Definition{
		"storage queue: want sas-token":           withStorage(action.StorageQueue{Account: s.URL, Queue: "jobs"}),
		"Service Bus: want shared-access-key":     withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q"}),
		"has no such credential":                  withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q"}),
		"the step names the credential \"queue\"": withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q", KeyName: "k", Key: "the-key"}),
	} {
		res := run(t, s.network, d, func(a *targets.ActionAttempt) {
			a.Credential = "queue"
			if strings.HasPrefix(part, "has no") {
				a.Credential = "other"
			}
		})
		require.Equal(t, targets.Failed, res.Outcome)
		require.True(t, res.NoRetry)
		require.Contains(t, res.Summary, part)
		require.NotContains(t, texts(res), "the-password")
	}
}

// An answer of 401 drops the token, and the request is sent once more with a new one.
func TestEntraTokenIsRenewedOnce(t *testing.T) {
	for _, test := range []struct {
		valid    string
		outcome  targets.Outcome
		requests []string
	}{
		{"entra-token-1", targets.Succeeded, []string{"Bearer entra-token-1"}},
		{"entra-token-2", targets.Succeeded, []string{"Bearer entra-token-1", "Bearer entra-token-2"}},
		{"none", targets.Failed, []string{"Bearer entra-token-1", "Bearer entra-token-2"}},
	} {
		for scope, definition := range map[string]func(s *service) *action.Definition{
			storageScope: func(s *service) *action.Definition {
				return withStorage(action.StorageQueue{Account: s.URL + "/account", Queue: "jobs", Message: "m"})
			},
			serviceBusScope: func(s *service) *action.Definition {
				return withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q", Message: "m"})
			},
		} {
			var requests []string
			issued := 0
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.Header.Get("Authorization"))
				if r.Header.Get("Authorization") != "Bearer "+test.valid {
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = io.WriteString(w, r.Header.Get("Authorization"))
					return
				}
				w.WriteHeader(http.StatusCreated)
			}, func(c *outbound.Config) {
				c.Credentials = []outbound.Credential{{Name: "queue", Kind: outbound.KindManagedIdentity, Hosts: []string{"127.0.0.1"}}}
				c.Azure = func(_ context.Context, r outbound.AzureRequest) (outbound.AzureToken, error) {
					require.Equal(t, scope, r.Scope)
					issued++
					return outbound.AzureToken{Token: fmt.Sprintf("entra-token-%d", issued), Expires: time.Now().Add(time.Hour)}, nil
				}
			})
			res := run(t, s.network, definition(s), named)
			require.Equal(t, test.outcome, res.Outcome, texts(res))
			require.Equal(t, test.requests, requests)
			require.NotContains(t, texts(res), "entra-token")
			require.True(t, res.Sent)
		}
	}
}

// A service that repeats everything that it received does not make a secret appear anywhere: not
// in clear, not escaped, and not as a part at a cut.
func TestEchoedSecretsAreMasked(t *testing.T) {
	const secret = "s3cret+key/with=signs&more"
	for padding := range 3 {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			dump, _ := httputil.DumpRequest(r, true)
			text := string(dump) + secret
			// The secret stands across the cut of the body.
			text = strings.Repeat("x", maxAnswer-len(text)-len(secret)/2+10*padding) + text + secret + text
			w.Header().Set("Content-Type", r.Header.Get("Authorization")+secret)
			w.Header().Set("x-ms-request-id", strings.Repeat("y", 490)+secret)
			w.Header().Set("x-ms-error-code", r.URL.RawQuery)
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, text)
		}, nil)
		sas := "sv=1&sig=" + "c2VjcmV0%2Bc2lnbmF0dXJl%3D"
		for _, d := range []*action.Definition{
			withStorage(action.StorageQueue{Account: s.URL, Queue: "jobs", Message: secret, SASToken: sas}, secret, sas),
			withServiceBus(action.ServiceBus{Namespace: s.host, Entity: "q", Message: "m", KeyName: "send", Key: secret,
				Properties: []action.Property{{Name: "p", Value: secret}}}, secret),
		} {
			res := run(t, s.network, d, nil)
			require.Equal(t, targets.Failed, res.Outcome)
			all := texts(res)
			for _, part := range []string{"s3cret", "with=signs", "c2VjcmV0", "sig=c", "&sig="} {
				require.NotContains(t, all, part)
			}
			require.True(t, slices.ContainsFunc(res.Messages, func(m targets.Message) bool { return strings.Contains(m.Text, "***") }))
		}
	}
}
