package queue

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"

	"github.com/jobagent/jobagent/testenv/npm"
)

// The published account of the emulator
// (https://learn.microsoft.com/azure/storage/common/storage-use-azurite).
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// azurite is Microsoft's emulator of Azure Storage.
type azurite struct {
	network *outbound.Network
	account string // URL
}

// startAzurite starts the emulator with a queue, or skips the test.
func startAzurite(t *testing.T, queue string) *azurite {
	t.Helper()
	modules := npm.Modules(t, "azurite")
	p := startNode(t, modules, modules+"/azurite/dist/src/queue/main.js", "--queueHost", "127.0.0.1", "--queuePort", "0",
		"--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck")
	const listens = "Azurite Queue service successfully listens on "
	p.line(t, "Azurite Queue service is starting")
	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	require.NoError(t, err)
	a := &azurite{network, p.line(t, listens) + "/" + azuriteAccount}
	status, body := a.request(t, http.MethodPut, "/"+queue, storageAccountToken("c"), "")
	require.Equal(t, http.StatusCreated, status, body)
	return a
}

// storageAccountToken returns an account SAS for queues
// (https://learn.microsoft.com/rest/api/storageservices/create-account-sas, version 2019-02-02).
func storageAccountToken(permissions string) string {
	const version = "2019-02-02"
	until := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	sig := storageSignature(azuriteKey, azuriteAccount, permissions, "q", "sco", "", until, "", "", version, "")
	return "sv=" + version + "&ss=q&srt=sco&sp=" + permissions + "&se=" + url.QueryEscape(until) + "&sig=" + url.QueryEscape(sig)
}

// request sends a request of the test itself.
func (a *azurite) request(t *testing.T, method, path, query, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.account+path+"?"+query, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("x-ms-version", storageVersion)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// azuriteMessage is a message as the emulator returns it.
type azuriteMessage struct {
	MessageID, MessageText, ExpirationTime string
}

// take returns the next message of a queue, and makes it invisible.
func (a *azurite) take(t *testing.T, queue string) azuriteMessage {
	t.Helper()
	status, body := a.request(t, http.MethodGet, "/"+queue+"/messages", storageAccountToken("p"), "")
	require.Equal(t, http.StatusOK, status, body)
	var list struct {
		Messages []struct {
			MessageID      string `xml:"MessageId"`
			MessageText    string `xml:"MessageText"`
			ExpirationTime string `xml:"ExpirationTime"`
		} `xml:"QueueMessage"`
	}
	require.NoError(t, xml.Unmarshal([]byte(body), &list), body)
	require.Len(t, list.Messages, 1, body)
	return azuriteMessage(list.Messages[0])
}

// The emulator verifies the signature and the document, and has the message unchanged.
func TestAzuriteReceives(t *testing.T) {
	t.Parallel()
	a := startAzurite(t, "jobs")
	token := func() string {
		return storageToken(azuriteAccount, "jobs", azuriteKey, "a", time.Now().Add(time.Hour))
	}
	send := func(q action.StorageQueue) targets.Result {
		q.Account, q.AllowHTTP = a.account, true
		if q.Queue == "" {
			q.Queue = "jobs"
		}
		if q.SASToken == "" {
			q.SASToken = token()
		}
		return run(t, a.network, withStorage(q, q.SASToken), nil)
	}
	t.Run("text", func(t *testing.T) {
		const text = "<a b=\"c\">&amp; Grüße 😀\r\n\tmore</a>"
		res := send(action.StorageQueue{Message: text, TimeToLive: -1})
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		got := a.take(t, "jobs")
		require.Equal(t, text, got.MessageText)
		require.Contains(t, got.ExpirationTime, "9999")
		require.Contains(t, messageOf(t, res, targets.KindResponse).Text, "MessageId: "+got.MessageID)
	})
	t.Run("envelope", func(t *testing.T) {
		res := send(action.StorageQueue{Message: "hi", Envelope: action.EnvelopeAzureScheduler})
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		require.Equal(t, schedulerEnvelope(theAttempt(), "", "hi", ""), a.take(t, "jobs").MessageText)
	})
	t.Run("base64", func(t *testing.T) {
		res := send(action.StorageQueue{Message: "\x00\x01", Base64: true})
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		require.Equal(t, "AAE=", a.take(t, "jobs").MessageText)
	})
	t.Run("the largest message", func(t *testing.T) {
		res := send(action.StorageQueue{Message: strings.Repeat("x", maxStorageText)})
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		require.Len(t, a.take(t, "jobs").MessageText, maxStorageText)
	})
	t.Run("refusals", func(t *testing.T) {
		for part, q := range map[string]action.StorageQueue{
			"QueueNotFound":        {Queue: "missing", SASToken: storageAccountToken("a")},
			"AuthenticationFailed": {SASToken: strings.Replace(token(), "sig=", "sig=x", 1)},
		} {
			res := send(q)
			require.Equal(t, targets.Failed, res.Outcome, part)
			require.Contains(t, res.Summary, part)
			require.False(t, res.NoRetry)
			require.NotContains(t, texts(res), "sig=")
		}
	})
}
