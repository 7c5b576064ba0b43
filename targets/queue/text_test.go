package queue

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// theAttempt is the attempt of most tests.
func theAttempt() targets.ActionAttempt {
	return targets.ActionAttempt{
		Key:            uuid.MustParse("6f1c5c0e-8c0a-4a7e-9d60-6f0f0c7b1a11"),
		Number:         1,
		JobName:        "nightly",
		JobExecutionID: uuid.MustParse("e927cf76-d24d-a962-5608-248ce654cfa7"),
		StepID:         1,
		StepName:       "MainAction",
		DueAt:          time.Date(2015, 9, 10, 2, 0, 0, 0, time.FixedZone("", 2*3600)),
	}
}

// Case 116: the envelope of Azure Scheduler has its elements in their order, the message's text,
// the job's name and the due instant.
func TestCase116AzureSchedulerEnvelope(t *testing.T) {
	a := theAttempt()
	text, err := storageText(&action.StorageQueue{Message: "a < b\r\n\"ü\"", Envelope: action.EnvelopeAzureScheduler}, a, "West Europe")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, `<?xml version="1.0" encoding="utf-16"?>`), text)

	// A consumer of Azure Scheduler's messages parses the text without regard to the declaration.
	_, document, _ := strings.Cut(text, "?>")
	var names, values []string
	dec := xml.NewDecoder(strings.NewReader(document))
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local != "StorageQueueMessage" {
			var value string
			require.NoError(t, dec.DecodeElement(&value, &start))
			names, values = append(names, start.Name.Local), append(values, value)
		}
	}
	require.Equal(t, []string{"ExecutionTag", "ClientRequestId", "ExpectedExecutionTime", "SchedulerJobId",
		"SchedulerJobCollectionId", "Region", "Message"}, names)
	require.Equal(t, []string{"e927cf76d24da9625608248ce654cfa7", values[1], "2015-09-10T00:00:00", "nightly", "", "West Europe",
		"a < b\r\n\"ü\""}, values)
	require.NoError(t, uuid.Validate(values[1]))
}

// The name of an imported job begins with that of its collection. The tag is that of the run, and
// the request's ID that of the attempt.
func TestEnvelopeNamesCollectionAndAttempt(t *testing.T) {
	a := theAttempt()
	a.JobName = "jc1/h1"
	first := schedulerEnvelope(a, "", "m", "")
	require.Contains(t, first, "<SchedulerJobId>h1</SchedulerJobId>")
	require.Contains(t, first, "<SchedulerJobCollectionId>jc1</SchedulerJobCollectionId>")
	require.Contains(t, first, "<Region />")
	require.Equal(t, first, schedulerEnvelope(a, "", "m", ""), "an attempt's envelope can be computed again")
	given := schedulerEnvelope(a, "given", "m", "")
	require.Contains(t, given, "<SchedulerJobId>jc1/h1</SchedulerJobId>")
	require.Contains(t, given, "<SchedulerJobCollectionId>given</SchedulerJobCollectionId>")
	a.Number = 2
	second := schedulerEnvelope(a, "", "m", "")
	tag := "<ExecutionTag>" + executionTag(a) + "</ExecutionTag>"
	require.Contains(t, first, tag)
	require.Contains(t, second, tag)
	require.NotEqual(t, first, second)
}

func TestStorageTextEncodings(t *testing.T) {
	const message = "Grüße\tan\r\nalle"
	plain, err := storageText(&action.StorageQueue{Message: message}, theAttempt(), "")
	require.NoError(t, err)
	require.Equal(t, message, plain)
	encoded, err := storageText(&action.StorageQueue{Message: "\x01" + message, Base64: true}, theAttempt(), "")
	require.NoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	require.Equal(t, "\x01"+message, string(raw))
}

// The limit holds for the encoded text: 64 KiB, which is 49,152 bytes before base64.
func TestStorageTextSizes(t *testing.T) {
	for _, test := range []struct {
		size   int
		base64 bool
		valid  bool
	}{{65536, false, true}, {65537, false, false}, {49152, true, true}, {49153, true, false}} {
		_, err := storageText(&action.StorageQueue{Message: strings.Repeat("x", test.size), Base64: test.base64}, theAttempt(), "")
		if test.valid {
			require.NoError(t, err, test)
		} else {
			requireFault(t, err, "want at most 65536")
		}
	}
}

// XML cannot contain some characters, and encoding/xml would replace them.
func TestStorageTextRefusesWhatXMLCannotContain(t *testing.T) {
	for _, message := range []string{"\x00", "a\x0B", "\x1F", "\uFFFE", "\uFFFF", "a\xFFb", "\xED\xA0\x80"} {
		_, err := storageText(&action.StorageQueue{Message: message}, theAttempt(), "")
		requireFault(t, err, "base64")
		_, err = storageText(&action.StorageQueue{Message: message, Envelope: action.EnvelopeAzureScheduler, Base64: true}, theAttempt(), "")
		requireFault(t, err, "envelope")
		_, err = storageText(&action.StorageQueue{Message: message, Base64: true}, theAttempt(), "")
		require.NoError(t, err)
	}
	_, err := storageText(&action.StorageQueue{Message: "\uFFFD is a character like others, 😀 too"}, theAttempt(), "")
	require.NoError(t, err)
	_, err = storageText(&action.StorageQueue{Envelope: "soap"}, theAttempt(), "")
	requireFault(t, err, `invalid envelope "soap": want azure-scheduler`)
}

func TestKeyProperty(t *testing.T) {
	const key = `"id":"6f1c5c0e-8c0a-4a7e-9d60-6f0f0c7b1a11"`
	for message, want := range map[string]string{
		`{}`:                      `{` + key + `}`,
		` {"a": 1}`:               ` {` + key + `,"a": 1}`,
		`{"a": {"id": 1}}`:        `{` + key + `,"a": {"id": 1}}`,
		`{"a": [], "id": "mine"}`: `{"a": [], "id": "mine"}`,
		`{ "n": 1.0e+2, "b":"ü"}`: `{` + key + `, "n": 1.0e+2, "b":"ü"}`,
	} {
		got, err := storageText(&action.StorageQueue{Message: message, KeyProperty: "id"}, theAttempt(), "")
		require.NoError(t, err, message)
		require.Equal(t, want, got)
		require.True(t, json.Valid([]byte(got)), got)
	}
	for _, message := range []string{``, `[]`, `"a"`, `1`, `{`, `{"a"`, `{"a":}`, `{"a":1}}`, `{} {}`, `{"a":1} x`, `{'a':1}`} {
		_, err := storageText(&action.StorageQueue{Message: message, KeyProperty: "id"}, theAttempt(), "")
		requireFault(t, err, "the message is not a JSON object")
	}
}

// requireFault requires the error of a definition that cannot be sent.
func requireFault(t *testing.T, err error, part string) {
	t.Helper()
	var f *failure
	require.ErrorAs(t, err, &f)
	require.True(t, f.noRetry)
	require.ErrorContains(t, err, part)
}
