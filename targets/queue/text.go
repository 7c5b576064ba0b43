package queue

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/targets"
)

// maxStorageText is the maximum size in bytes of a message's encoded text in a Storage queue (64
// KiB since version 2011-08-18,
// https://learn.microsoft.com/rest/api/storageservices/put-message).
const maxStorageText = 64 << 10

// storageText returns the text of a Storage queue's message as the queue keeps it: with the
// idempotency key, in its envelope, and encoded.
func storageText(q *action.StorageQueue, a targets.ActionAttempt, region string) (string, error) {
	text := q.Message
	if q.KeyProperty != "" {
		var err error
		if text, err = withKey(text, q.KeyProperty, a.Key); err != nil {
			return "", err
		}
	}
	switch q.Envelope {
	case "":
	case action.EnvelopeAzureScheduler:
		if err := checkXMLText(text); err != nil {
			return "", faultf("the message cannot be put in the envelope %s, which is XML: %v", q.Envelope, err)
		}
		text = schedulerEnvelope(a, q.EnvelopeCollection, text, region)
	default:
		return "", faultf("invalid envelope %q: want %s", q.Envelope, action.EnvelopeAzureScheduler)
	}
	encoding := "text"
	if q.Base64 {
		encoding = "base64"
		text = base64.StdEncoding.EncodeToString([]byte(text))
	} else if err := checkXMLText(text); err != nil {
		return "", faultf("the message cannot be sent as text: %v; set encoding to base64", err)
	}
	if len(text) > maxStorageText {
		return "", faultf("the message has %d bytes encoded as %s: want at most %d",
			len(text), encoding, maxStorageText)
	}
	return text, nil
}

// withKey returns a JSON object with the idempotency key as its first member. A member of that name
// in the object is kept, and the key is not added.
func withKey(text, property string, key uuid.UUID) (string, error) {
	message, err := jsontree.Parse(text)
	if err != nil || message.Kind != '{' {
		return "", faultf("the message is not a JSON object, and key_property %q needs one", property)
	}
	if message.Has(property) {
		return text, nil
	}
	start, separator := message.At+len("{"), ""
	if len(message.Members) > 0 {
		separator = ","
	}
	name, _ := json.Marshal(property) // a string can always be encoded
	return text[:start] + string(name) + `:"` + key.String() + `"` + separator + text[start:], nil
}

// checkXMLText reports the first character that XML 1.0 cannot contain, as such or escaped (section
// 2.2, https://www.w3.org/TR/xml/#charsets). encoding/xml would replace such a character.
func checkXMLText(text string) error {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return faultf("byte %d is not UTF-8", i)
			}
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF' {
			return faultf("XML cannot contain the character %U at byte %d", r, i)
		}
	}
	return nil
}

// escapeXML returns text escaped for the content of an XML element. Line ends are escaped, too,
// because an XML reader changes a bare CR. The caller has checked the text.
func escapeXML(text string) string {
	var b bytes.Buffer
	// A bytes.Buffer never fails.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// schedulerEnvelope returns the document that Azure Scheduler put on Storage queues, with its
// elements in their order. The declaration says utf-16 although the bytes are UTF-8: Azure
// Scheduler's did, and its consumers parse text, not bytes.
func schedulerEnvelope(a targets.ActionAttempt, collection, message, region string) string {
	job := a.JobName
	if before, after, nested := strings.Cut(job, "/"); nested && collection == "" {
		collection, job = before, after
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-16"?>` + "\r\n" +
		`<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` + "\r\n")
	for _, element := range []struct{ name, value string }{
		{"ExecutionTag", executionTag(a)},
		{"ClientRequestId", clientRequestID(a).String()},
		{"ExpectedExecutionTime", a.DueAt.UTC().Format("2006-01-02T15:04:05")},
		{"SchedulerJobId", job},
		{"SchedulerJobCollectionId", collection},
		{"Region", region},
		{"Message", message},
	} {
		if element.value == "" {
			b.WriteString("  <" + element.name + " />\r\n")
			continue
		}
		b.WriteString("  <" + element.name + ">" + escapeXML(element.value) + "</" + element.name + ">\r\n")
	}
	b.WriteString("</StorageQueueMessage>")
	return b.String()
}

// executionTag returns 32 hexadecimal digits that are the same in all attempts of a run.
func executionTag(a targets.ActionAttempt) string {
	return strings.ReplaceAll(a.JobExecutionID.String(), "-", "")
}

// clientRequestID returns an ID that is new in every attempt, and that can be computed from the
// idempotency key and the attempt's number.
func clientRequestID(a targets.ActionAttempt) uuid.UUID {
	return uuid.NewSHA1(a.Key, []byte{byte(a.Number >> 24), byte(a.Number >> 16), byte(a.Number >> 8), byte(a.Number)})
}

// failure is an error with what it means for the attempt.
type failure struct {
	text  string
	class targets.Class
	// noRetry says that another attempt cannot help.
	noRetry bool
	err     error // the cause; may be nil
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// faultf returns the error of a definition that cannot be sent. Another attempt cannot help.
func faultf(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), class: targets.ClassPermanent, noRetry: true}
}
