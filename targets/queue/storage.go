package queue

import (
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
)

// storageVersion is the version of the Storage services' interface that requests name. It is the
// newest one that is needed, so that emulators of any age take it: 2017-07-29 allows messages that
// never expire.
const storageVersion = "2019-02-02"

// maxVisibility is the maximum delay of a message.
const maxVisibility = 7 * 24 * time.Hour

var (
	accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	// queueName has no double hyphen; validQueueName checks that.
	queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)
)

// storageBase returns the URL of a Storage account's queues, without a slash at its end.
func storageBase(q *action.StorageQueue) (*url.URL, error) {
	if !strings.ContainsAny(q.Account, ".:[") && !accountName.MatchString(q.Account) {
		return nil, faultf("invalid storage account %q: want 3 to 24 lower-case letters and digits, a host, or a URL",
			q.Account)
	}
	u, err := url.Parse(q.BaseURL())
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		u.Opaque != "" {
		// The text may contain a signature, and is not repeated.
		return nil, faultf("invalid storage account: want a name, a host, or a URL without user, query and fragment")
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && q.AllowHTTP:
	case u.Scheme == "http":
		return nil, faultf("the storage account's URL is plain http, which needs allow_http")
	default:
		return nil, faultf("invalid scheme %q of the storage account's URL: want https", u.Scheme)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// storageURL returns the address of a put-message request, without the authorization's query.
func storageURL(q *action.StorageQueue) (*url.URL, error) {
	u, err := storageBase(q)
	if err != nil {
		return nil, err
	}
	name := q.Queue
	if len(name) < 3 && name != "" && strings.ContainsAny(q.Account, ".:") {
		name = "00" + name // a host may be an emulator, with shorter names
	}
	if !queueName.MatchString(name) || strings.Contains(q.Queue, "--") {
		return nil, faultf("invalid queue name %q: want 3 to 63 lower-case letters, digits and single hyphens", q.Queue)
	}
	u.Path += "/" + q.Queue + "/messages"
	values := url.Values{}
	switch ttl := seconds(q.TimeToLive); {
	case q.TimeToLive < 0:
		values.Set("messagettl", "-1")
	case q.TimeToLive > 0:
		values.Set("messagettl", strconv.FormatInt(ttl, 10))
	}
	switch {
	case q.VisibilityTimeout == 0:
	case q.VisibilityTimeout < 0 || q.VisibilityTimeout > maxVisibility:
		return nil, faultf("invalid visibility_timeout %v: want at most 7 days", q.VisibilityTimeout)
	case q.TimeToLive > 0 && seconds(q.VisibilityTimeout) >= seconds(q.TimeToLive):
		return nil, faultf("invalid visibility_timeout %v: want less than the time to live, %v",
			q.VisibilityTimeout, q.TimeToLive)
	default:
		values.Set("visibilitytimeout", strconv.FormatInt(seconds(q.VisibilityTimeout), 10))
	}
	u.RawQuery = values.Encode()
	return u, nil
}

// seconds returns d in whole seconds, rounded up, so that a short duration is not lost.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// storageBody returns the body of a put-message request for an encoded text.
func storageBody(text string) []byte {
	return []byte(`<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>` + escapeXML(text) +
		`</MessageText></QueueMessage>`)
}

// storageAnswer is the part that is kept of the answer to a put-message request. The pop receipt is
// not: it would let a reader of the history delete the message.
type storageAnswer struct {
	MessageID       string `xml:"MessageId"`
	InsertionTime   string `xml:"InsertionTime"`
	ExpirationTime  string `xml:"ExpirationTime"`
	TimeNextVisible string `xml:"TimeNextVisible"`
}

// parseStorageAnswer decodes the answer to a put-message request.
func parseStorageAnswer(body string) (storageAnswer, error) {
	var list struct {
		XMLName  xml.Name        `xml:"QueueMessagesList"`
		Messages []storageAnswer `xml:"QueueMessage"`
	}
	if err := decodeXML(body, &list); err != nil {
		return storageAnswer{}, err
	}
	if len(list.Messages) != 1 || strings.TrimSpace(list.Messages[0].MessageID) == "" {
		return storageAnswer{}, errors.New("the answer lacks the id of a message")
	}
	m := list.Messages[0]
	for _, text := range []*string{&m.MessageID, &m.InsertionTime, &m.ExpirationTime, &m.TimeNextVisible} {
		*text = oneLine(*text, 100)
	}
	return m, nil
}

// storageFault is the body of an answer that refuses a request.
type storageFault struct {
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

// parseStorageFault decodes the body of an answer that refuses a request. It returns the zero value
// for a body of another form, such as a proxy's.
func parseStorageFault(body string) storageFault {
	var f struct {
		XMLName xml.Name `xml:"Error"`
		storageFault
	}
	if err := decodeXML(body, &f); err != nil {
		return storageFault{}
	}
	// The lines after the first one name the request and the time.
	text, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
	return storageFault{Code: oneLine(f.Code, 100), Message: oneLine(text, 500)}
}

// decodeXML decodes one XML document. Storage services begin theirs with a byte order mark.
func decodeXML(body string, v any) error {
	dec := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(body, "\uFEFF")))
	dec.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return input, nil
		}
		return nil, errors.New("the answer is not UTF-8")
	}
	return dec.Decode(v)
}

// oneLine returns text as one line of at most n bytes, without control characters. A cut text ends
// in "…".
func oneLine(text string, n int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return r <= ' ' || r == 0x7F || r >= 0x80 && r < 0xA0
	}), " ")
	return wording.Clip(text, n, wording.Bytes)
}
