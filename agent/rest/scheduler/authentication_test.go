package scheduler_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/jobagent/jobagent/agent/rest"
	surface "github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/testenv/front"
)

// certificate returns a PFX with a key and its certificate, in base64.
func certificate(t *testing.T, encoder *pkcs12.Encoder, password string, until time.Time) (pfx string, cert *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	data, err := encoder.Encode(key, cert, nil, password)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(data), cert
}

func withAuthentication(authentication any) func(object, object) {
	return func(_, q object) { q["authentication"] = authentication }
}

func TestClientCertificates(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "ccert", nil)
	next := time.Now().AddDate(1, 0, 0).UTC().Truncate(time.Second)
	for name, encoder := range map[string]*pkcs12.Encoder{"PBES2": pkcs12.Modern2023, "PBES1": pkcs12.LegacyDES} {
		pfx, cert := certificate(t, encoder, "pfx-password-1", next)
		bundle, err := surface.OpenPFX(pfx, "pfx-password-1")
		require.NoError(t, err, name)
		_, err = tls.X509KeyPair([]byte(bundle), []byte(bundle))
		require.NoError(t, err, "%s: the bundle is what an action needs", name)
		a := put(t, f, jc+"/jobs/h1", httpJob(f, "/ok", withAuthentication(object{
			"type": "clientcertificate", "pfx": pfx, "password": "pfx-password-1",
		})))
		want := object{
			"type": "ClientCertificate", "certificateThumbprint": fmt.Sprintf("%X", sha1.Sum(cert.Raw)), "certificateSubjectName": "CN=client",
			"certificateExpirationDate": next.Format(time.RFC3339), "certificateExpiration": next.Format(time.RFC3339),
		}
		require.Equal(t, want, a.At(t, "properties.action.request.authentication"), name)
		// What a client reads and puts again is kept.
		a = put(t, f, jc+"/jobs/h1", a.JSON(t))
		require.Equal(t, want, a.At(t, "properties.action.request.authentication"), name)
	}
	good, _ := certificate(t, pkcs12.Modern2023, "right", next)
	expired, _ := certificate(t, pkcs12.Modern2023, "right", time.Now().AddDate(0, 0, -1))
	for want, authentication := range map[string]object{
		"the right password":   {"type": "ClientCertificate", "pfx": good, "password": "wrong"},
		"certificate expired":  {"type": "ClientCertificate", "pfx": expired, "password": "right"},
		"want base64":          {"type": "ClientCertificate", "pfx": "!", "password": "right"},
		"want a PKCS #12 file": {"type": "ClientCertificate", "pfx": "aGVsbG8=", "password": "right"},
		"Missing pfx":          {"type": "ClientCertificate", "certificateThumbprint": "00"},
	} {
		a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "/ok", withAuthentication(authentication)))
		require.Equal(t, 400, a.Status, a.Body)
		require.Contains(t, a.At(t, "error.message"), want)
		require.Equal(t, "$.properties.action.request.authentication.pfx", a.At(t, "error.target"))
	}
	requireAbsent(t, f, "pfx-password-1")
}

func TestActiveDirectoryOAuth(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "caad", nil)
	f.H.Handle("/tenant1/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, secret, _ := r.BasicAuth()
		if r.FormValue("client_id")+id != "client1" || r.FormValue("client_secret")+secret != "aad-secret-1" ||
			r.FormValue("scope") != "https://audience.example//.default" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"token-of-aad","token_type":"Bearer","expires_in":3600}`)
	})
	public := object{"type": "ActiveDirectoryOAuth", "tenant": "tenant1", "audience": "https://audience.example/", "clientId": "client1"}
	given := object{"secret": "aad-secret-1"}
	for name, value := range public {
		given[name] = value
	}
	a := put(t, f, jc+"/jobs/h1", httpJob(f, "/aad", withAuthentication(given)))
	require.Equal(t, public, a.At(t, "properties.action.request.authentication"))
	a = put(t, f, jc+"/jobs/h1", httpJob(f, "/aad", withAuthentication(public)))
	require.Equal(t, public, a.At(t, "properties.action.request.authentication"), "the secret is kept")
	require.Equal(t, 200, f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil).Status)
	list := history(t, f, jc+"/jobs/h1", 1)
	require.Equal(t, "Completed", list[0].(object)["properties"].(object)["status"], list)
	require.Equal(t, "Bearer token-of-aad", f.H.Requests("/aad")[0].Header.Get("Authorization"))
	requireAbsent(t, f, "aad-secret-1")
}

// The values of headers and signatures that are secrets are sealed, and masked in answers. A masked
// value that a client sends back is the stored one, as long as the host is the same.
func TestMaskedSecrets(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "cmask", nil)
	secrets := func(_, q object) {
		q["uri"] = f.H.URL + "/mask?a=$(1)&sig=s%2Bx%2Fy&b=2"
		q["headers"] = object{
			"authorization": "Bearer tok-mask-1", "X-Functions-Key": "key-mask-1", "X-Plain": "$(param.x)", "x-ms-scheduler-jobid": "forged",
		}
	}
	a := put(t, f, jc+"/jobs/h1", httpJob(f, "/", secrets))
	shown := a.At(t, "properties.action.request").(object)
	require.Equal(t, f.H.URL+"/mask?a=$(1)&sig=***&b=2", shown["uri"])
	require.Equal(t, object{
		"authorization": "***", "X-Functions-Key": "***", "X-Plain": "$(param.x)", "x-ms-scheduler-jobid": "forged",
	}, shown["headers"])
	for range 2 { // again with what was read: nothing changes
		again := put(t, f, jc+"/jobs/h1", a.JSON(t))
		require.Equal(t, a.Header.Get("Etag"), again.Header.Get("Etag"))
	}
	require.Equal(t, 200, f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil).Status)
	history(t, f, jc+"/jobs/h1", 1)
	sent := f.H.Requests("/mask")
	require.Len(t, sent, 1)
	require.Equal(t, "/mask?a=$(1)&sig=s%2Bx%2Fy&b=2", sent[0].Path)
	require.Equal(t, "Bearer tok-mask-1", sent[0].Header.Get("Authorization"))
	require.Equal(t, "key-mask-1", sent[0].Header.Get("X-Functions-Key"))
	require.Equal(t, "$(param.x)", sent[0].Header.Get("X-Plain"))
	require.Equal(t, "h1", sent[0].Header.Get("X-Ms-Scheduler-Jobid"))
	for _, secret := range []string{"tok-mask-1", "key-mask-1", "s%2Bx", "s+x/y"} {
		requireAbsent(t, f, secret)
	}

	elsewhere := strings.Replace(a.Body, "127.0.0.1", "localhost", 1)
	refused := f.Do(t, "PUT", jc+"/jobs/h1"+version, elsewhere)
	require.Equal(t, 400, refused.Status, refused.Body)
	require.Contains(t, refused.Body, "the stored one is bound to the former host")
	refused = f.Do(t, "PUT", jc+"/jobs/h2"+version, strings.ReplaceAll(a.Body, "h1", "h2"))
	require.Equal(t, 400, refused.Status, refused.Body)
	require.Contains(t, refused.Body, "none is stored")
}

func TestServiceBus(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "cbus", nil)
	message := object{
		"namespace": "namespace1", "queueName": "q1", "message": "hi", "transportType": "NetMessaging",
		"authentication":            object{"sasKeyName": "key1", "sasKey": "bus-key-1", "type": "SharedAccessKey"},
		"brokeredMessageProperties": object{"contentType": "text/plain", "messageId": "m", "timeToLive": "01:00:00", "forcePersistence": true},
		"customMessageProperties":   object{"a": "b"},
	}
	body := object{"properties": object{"action": object{"type": "servicebusqueue", "serviceBusQueueMessage": message}}}
	a := put(t, f, jc+"/jobs/h1", body)
	require.Equal(t, "ServiceBusQueue", a.At(t, "properties.action.type"))
	require.Equal(t, object{
		"namespace": "namespace1", "queueName": "q1", "message": "hi", "transportType": "netMessaging",
		"authentication":            object{"sasKeyName": "key1", "type": "sharedAccessKey"},
		"brokeredMessageProperties": object{"contentType": "text/plain", "messageId": "m", "timeToLive": "01:00:00", "forcePersistence": true},
		"customMessageProperties":   object{"a": "b"},
	}, a.At(t, "properties.action.serviceBusQueueMessage"))
	require.NotContains(t, a.Body, "bus-key-1")
	steps, err := catalog.On(f.Store).JobSteps(t.Context(), "cbus/h1", nil)
	require.NoError(t, err)
	require.Contains(t, steps[0].Command, `"transport":"amqp"`)
	require.Contains(t, steps[0].Command, `"time_to_live_seconds":3600`)
	for target, change := range map[string]func(m object){
		"authentication.type":                  func(m object) { m["authentication"] = object{"type": "x"} },
		"authentication.sasKeyName":            func(m object) { m["authentication"] = object{"type": "SharedAccessKey", "sasKey": "k"} },
		"authentication.sasKey":                func(m object) { m["authentication"] = object{"type": "SharedAccessKey", "sasKeyName": "other"} },
		"namespace":                            func(m object) { m["namespace"] = "x" },
		"queueName":                            func(m object) { m["queueName"] = "" },
		"transportType":                        func(m object) { m["transportType"] = "Pigeon" },
		"brokeredMessageProperties.timeToLive": func(m object) { m["brokeredMessageProperties"] = object{"timeToLive": "soon"} },
		"brokeredMessageProperties.scheduledEnqueueTimeUtc": func(m object) {
			m["brokeredMessageProperties"] = object{"scheduledEnqueueTimeUtc": "soon"}
		},
	} {
		changed := object{}
		for name, value := range message {
			changed[name] = value
		}
		change(changed)
		a := f.Do(t, "PUT", jc+"/jobs/h1"+version, object{"properties": object{
			"action": object{"type": "ServiceBusQueue", "serviceBusQueueMessage": changed},
		}})
		require.Equal(t, 400, a.Status, "%s: %s", target, a.Body)
		require.Equal(t, "$.properties.action.serviceBusQueueMessage."+target, a.At(t, "error.details.0.target"), a.Body)
	}
	a = f.Do(t, "PATCH", jc+"/jobs/h1"+version, `{"properties":{"action":{"type":"ServiceBusTopic",
		"serviceBusTopicMessage":{"namespace":"namespace1","topicPath":"t1","message":"m"}}}}`)
	require.Equal(t, 200, a.Status, a.Body)
	require.Equal(t, object{
		"type": "ServiceBusTopic", "serviceBusTopicMessage": object{"namespace": "namespace1", "topicPath": "t1", "message": "m"},
	}, a.At(t, "properties.action"))
}

// Patches at the same time are merged one after the other.
func TestPatchesAtTheSameTime(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "cpatch", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	var wg sync.WaitGroup
	const n = 8
	answers := make([]front.Answer, n)
	for i := range n {
		wg.Go(func() {
			answers[i] = f.Do(t, "PATCH", jc+"/jobs/h1"+version, fmt.Sprintf(`{"properties":{"action":{"request":{"headers":{"H%d":"v"}}}}}`, i))
		})
	}
	wg.Wait()
	for _, a := range answers {
		require.Equal(t, 200, a.Status, a.Body)
	}
	require.Len(t, f.Do(t, "GET", jc+"/jobs/h1"+version, nil).At(t, "properties.action.request.headers"), n)
}

// Jobs that are defined in T-SQL are shown as far as the API can say what they are.
func TestJobsOfTSQL(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "ctsql", nil)
	_, err := scheduler.On(f.Store).SetJob(t.Context(), scheduler.JobSpec{
		Collection: "ctsql", Name: "h1", Schedule: `{"recurrence":{"frequency":"day","schedule":{"hours":3,"minutes":[5]}}}`,
		Main: scheduler.Action{
			Type: "Http", Retries: 2, RetryInterval: 90061,
			Command: `{"method":"PUT","url":"https://h.example/?sig=$(secret.s)","headers":{"X-Api-Key":"$(secret.k)","A":"b"},"body":"x"}`,
		},
		Error: &scheduler.Action{
			Type: "StorageQueue", Command: `{"account":"account1","queue":"errors","message":"m"}`, Retries: 1, RetryInterval: 15,
		},
	})
	require.NoError(t, err)
	a := f.Do(t, "GET", jc+"/jobs/h1"+version, nil)
	require.Equal(t, object{
		"state": "disabled",
		"action": object{
			"type":        "Https",
			"request":     object{"uri": "https://h.example/?sig=***", "method": "PUT", "body": "x", "headers": object{"A": "b", "X-Api-Key": "***"}},
			"retryPolicy": object{"retryType": "fixed", "retryInterval": "1.01:01:01", "retryCount": 2.0},
			"errorAction": object{
				"type": "StorageQueue", "queueMessage": object{"storageAccount": "account1", "queueName": "errors", "message": "m"},
				"retryPolicy": object{"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": 1.0},
			},
		},
		"recurrence": object{"frequency": "day", "interval": 1.0, "schedule": object{"hours": []any{3.0}, "minutes": []any{5.0}}},
	}, a.At(t, "properties"))
}

// Two control databases may serve a resource group: the location tells which one.
func TestLocations(t *testing.T) {
	f := front.Shared(t)
	other := *f.Entry
	other.Name, other.Location = "jobdb2", "West Europe"
	directory, err := rest.NewDirectory(f.Entry, &other)
	require.NoError(t, err)
	v := &virtual{surface: surface.New(surface.Config{}, directory, nil)}
	v.server, err = rest.New(rest.Config{
		Mounts: []*rest.Mount{{Surface: v.surface, ARM: true}}, Authenticator: admin{}, Authorizer: admin{}, PublicURL: "https://front.example",
		Log: zaptest.NewLogger(t),
	})
	require.NoError(t, err)
	v.do(t, "PUT", "/cwest", `{"location":"mars"}`, 400)
	v.do(t, "PUT", "/cwest", `{"location":"westeurope"}`, 201)
	v.do(t, "PATCH", "/cwest", `{"location":"mars"}`, 400)
	v.do(t, "PUT", "/cwest", `{"location":"West Europe","tags":{"a":"b"}}`, 200)
	v.do(t, "DELETE", "/cwest", nil, 200)
}
