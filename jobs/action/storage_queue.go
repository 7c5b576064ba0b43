package action

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// StorageQueue is a message for an Azure Storage queue.
type StorageQueue struct {
	// Account is the name of the storage account, or a host, or the URL of an emulator's account.
	Account string
	Queue   string
	Message string
	// SASToken is a template $(secret.name), or empty when the step's credential authorizes.
	SASToken string
	// TimeToLive is 0 for the service's default, and negative for a message that never expires.
	TimeToLive time.Duration
	// VisibilityTimeout delays the message.
	VisibilityTimeout time.Duration
	// Base64 encodes the text.
	Base64 bool
	// Envelope is the envelope of the text; see EnvelopeAzureScheduler.
	Envelope string
	// EnvelopeCollection is the job collection that the envelope names; empty means the part of the
	// job's name before a slash.
	EnvelopeCollection string
	// EnvelopeRegion is the region that the envelope names; empty means that of the agent's
	// configuration.
	EnvelopeRegion string
	// KeyProperty is the member of a JSON message that receives the idempotency key; empty means
	// none.
	KeyProperty string
	// AllowHTTP permits plain http, for emulators.
	AllowHTTP bool
}

// EnvelopeAzureScheduler is the XML document StorageQueueMessage of Azure Scheduler.
const EnvelopeAzureScheduler = "azure-scheduler"

// storageQueueInfo describes the type.
var storageQueueInfo = Info{
	Type: TypeStorageQueue, Member: "storage_queue", Flag: "storage-queue", Place: []string{"account", "queue"},
	Usage: "put a message on the queue `ACCOUNT/QUEUE` of Azure Storage", Does: "puts a message on a queue", Notifies: true,
	members: []string{
		"account", "queue", "message", "sas_token", "time_to_live_seconds", "visibility_timeout_seconds", "encoding", "envelope",
		"envelope_collection", "envelope_region", "key_property", "allow_http", "callback",
	},
	decode: func(d *Definition, o *object) { d.StorageQueue = decodeStorageQueue(o) },
}

func decodeStorageQueue(o *object) *StorageQueue {
	q := &StorageQueue{
		Account: o.required("account"), Queue: o.required("queue"), SASToken: o.text("sas_token"),
		Base64:             o.choice("encoding", "text", "text", "base64") == "base64",
		Envelope:           o.choice("envelope", "", EnvelopeAzureScheduler),
		EnvelopeCollection: o.text("envelope_collection"), EnvelopeRegion: o.text("envelope_region"),
		KeyProperty: o.text("key_property"), AllowHTTP: o.boolean("allow_http"),
		VisibilityTimeout: time.Duration(o.integer("visibility_timeout_seconds", 0, int64(maxVisibility/time.Second), 0)) * time.Second,
	}
	q.Message = decodeMessage(o)
	ttl := o.integer("time_to_live_seconds", -1, 1<<31-1, 0)
	if m := o.get("time_to_live_seconds"); m != nil && ttl == 0 {
		o.faults.add(pathOf(m), "invalid number: want 1 or more, or -1 for a message that never expires")
	}
	q.TimeToLive = time.Duration(ttl) * time.Second
	return q
}

func (q *StorageQueue) encode(w *writer) {
	w.text("account", q.Account)
	w.text("queue", q.Queue)
	w.add("message", q.Message)
	w.text("sas_token", q.SASToken)
	w.number("time_to_live_seconds", int64(q.TimeToLive/time.Second))
	w.number("visibility_timeout_seconds", int64(q.VisibilityTimeout/time.Second))
	if q.Base64 {
		w.add("encoding", "base64")
	}
	w.text("envelope", q.Envelope)
	w.text("envelope_collection", q.EnvelopeCollection)
	w.text("envelope_region", q.EnvelopeRegion)
	w.text("key_property", q.KeyProperty)
	w.truth("allow_http", q.AllowHTTP)
}

func (q *StorageQueue) slots(l *slotList) {
	l.add("$.account", placeHost, &q.Account)
	l.add("$.queue", placeName, &q.Queue)
	l.add("$.message", textPlace(q.Message), &q.Message)
	l.secret("$.sas_token", placeText, &q.SASToken)
}

var (
	storageAccount = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	storageQueue   = regexp.MustCompile(`^[a-z0-9](?:-?[a-z0-9])*$`)
)

func (q *StorageQueue) check(c checker) {
	switch {
	case q.Account == "" || c.open(q.Account):
	case strings.Contains(q.Account, "://"):
		c.address("$.account", q.Account, q.AllowHTTP)
		if strings.Contains(q.Account, "?") {
			c.fault("$.account", "invalid account: want a URL without a query; the token belongs in sas_token")
		}
	case strings.ContainsAny(q.Account, ".:"):
		if message := hostMessage(q.Account); message != "" {
			c.fault("$.account", "invalid account %q: %s", clip(q.Account), message)
		}
	case !storageAccount.MatchString(q.Account):
		c.fault("$.account", "invalid account %q: want 3 to 24 lower-case letters and digits, a host, or a URL", clip(q.Account))
	}
	least := 3
	if strings.ContainsAny(q.Account, ".:") {
		least = 1 // a host may be an emulator with other rules
	}
	if q.Queue != "" && !c.open(q.Queue) && (!storageQueue.MatchString(q.Queue) || len(q.Queue) < least || len(q.Queue) > 63) {
		c.fault("$.queue", "invalid queue name %q: want 3 to 63 lower-case letters, digits and single hyphens", clip(q.Queue))
	}
	if q.SASToken != "" && c.expanded && !validSAS(q.SASToken) {
		c.fault("$.sas_token", "invalid token: want a query string with the parameter sig")
	}
	encoded := q.Message
	if q.Base64 {
		encoded = base64.StdEncoding.EncodeToString([]byte(c.sample(q.Message, "")))
	} else if !utf8.ValidString(q.Message) || strings.ContainsFunc(q.Message, notXML) {
		c.fault("$.message", "invalid text: a message cannot contain control characters; want \"encoding\": \"base64\"")
	}
	c.limit("$.message", encoded, "encoded bytes", maxStorageText)
	if q.VisibilityTimeout > maxVisibility {
		c.fault("$.visibility_timeout_seconds", "invalid number: want at most %d", int(maxVisibility.Seconds()))
	}
	if q.TimeToLive > 0 && q.VisibilityTimeout >= q.TimeToLive {
		c.fault("$.visibility_timeout_seconds", "invalid number: want less than time_to_live_seconds")
	}
	if q.EnvelopeCollection != "" && q.Envelope == "" {
		c.fault("$.envelope_collection", "invalid member: it belongs to an envelope")
	}
	if q.EnvelopeRegion != "" && q.Envelope == "" {
		c.fault("$.envelope_region", "invalid member: it belongs to an envelope")
	}
	if q.KeyProperty != "" && !isJSONObject(c.sample(q.Message, "0")) {
		c.fault("$.key_property", "the message is not a JSON object, so that it has no member for the key")
	}
}

// validSAS reports whether a shared access signature has a signature.
func validSAS(text string) bool {
	values, err := url.ParseQuery(strings.TrimPrefix(strings.TrimSpace(text), "?"))
	return err == nil && values.Get("sig") != "" && !strings.ContainsFunc(strings.TrimSpace(text), func(r rune) bool { return r <= ' ' || r == '#' })
}

// notXML reports whether XML cannot contain r.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// BaseURL returns the URL of the storage account's queues, without a slash at its end.
func (q *StorageQueue) BaseURL() string {
	switch {
	case strings.Contains(q.Account, "://"):
		if u, err := url.Parse(q.Account); err == nil {
			return strings.TrimSuffix(u.String(), "/")
		}
		return q.Account
	case strings.ContainsAny(q.Account, ".:"):
		return "https://" + q.Account
	}
	return "https://" + q.Account + ".queue.core.windows.net"
}

func (q *StorageQueue) server() (string, error) { return serverOf(q.BaseURL()) }

func (q *StorageQueue) addresses(int) []string { return []string{q.BaseURL()} }

func (q *StorageQueue) addressed(d *Definition) *string {
	d.StorageQueue = &StorageQueue{Account: q.Account}
	return &d.StorageQueue.Account
}

func (q *StorageQueue) copyTo(d *Definition) { d.StorageQueue = new(*q) }

func (q *StorageQueue) parts(add func(name, text string)) {
	add("queue", q.BaseURL()+"/"+q.Queue)
	add("message", q.Message)
	add("sas token", q.SASToken)
	add("envelope", q.Envelope)
	if q.Base64 {
		add("encoding", "base64")
	}
	switch {
	case q.TimeToLive < 0:
		add("expires", "never")
	case q.TimeToLive > 0:
		add("expires", "after "+q.TimeToLive.String())
	}
	add("delay", notZero(q.VisibilityTimeout))
	add("key in", q.KeyProperty)
}
