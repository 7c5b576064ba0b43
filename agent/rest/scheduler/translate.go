package scheduler

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/controldb/secrets"
	actions "github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/isoduration"
	"github.com/jobagent/jobagent/jobs/secret"
)

// Limits of Azure Scheduler.
const (
	maxJob          = 16 << 10
	maxURI          = 2048
	maxHeaders      = 50
	maxHeaderLength = 4096
	maxBody         = 8192
	maxRetries      = 20
	defaultRetries  = 4
	defaultInterval = 30      // seconds
	minInterval     = 15      // seconds
	maxInterval     = 2147483 // seconds: the longest wait of a step
)

// masked stands for a secret in answers. In a request it means that the stored secret is kept.
const masked = "***"

// translator turns the action of a request into definitions of steps. The action itself becomes
// what answers show: canonical spellings, and no secrets.
type translator struct {
	*Surface
	region  string
	faults  []rest.Detail
	secrets []newSecret
}

// newSecret is a secret of a request that is to be sealed.
type newSecret struct {
	name, value string
	hosts       []string
}

// former is the stored action of the same place; the zero value means that there is none.
type former struct {
	shown      *action
	definition *actions.Definition
	hosts      []string
}

// formerOf returns a stored action.
func formerOf(shown *action, kind, command string) former {
	f := former{shown: shown}
	if d, err := actions.Decode(actions.Type(kind), command); err == nil {
		f.definition, f.hosts = d, hostsOf(d)
	}
	return f
}

func (t *translator) fault(path, format string, args ...any) {
	t.faults = append(t.faults, rest.Detail{Code: codeBadRequest, Target: path, Message: fmt.Sprintf(format, args...)})
}

// literal returns a text of a request as a text of a definition, in which $( begins a template.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

// plain is the inverse of literal.
func plain(text string) string { return strings.ReplaceAll(text, "$$(", "$(") }

// kinds are the types of actions in their canonical spelling.
var kinds = []string{"Http", "Https", "StorageQueue", "ServiceBusQueue", "ServiceBusTopic"}

// canonical returns the spelling of one of several words that a text is in any case.
func canonical(text string, words ...string) (string, bool) {
	for _, w := range words {
		if strings.EqualFold(w, text) {
			return w, true
		}
	}
	return text, false
}

// action translates an action, and changes it to what answers show.
func (t *translator) action(path string, a *action, old former) scheduler.Action {
	kind, ok := canonical(a.Type, kinds...)
	a.Type = kind
	if !ok {
		t.fault(path+".type", "Invalid type '%.40s' of the action: want %s.", a.Type, strings.Join(kinds, ", "))
		return scheduler.Action{}
	}
	if old.shown != nil && old.shown.Type != kind && !(strings.HasPrefix(old.shown.Type, "Http") && strings.HasPrefix(kind, "Http")) {
		old = former{}
	}
	d := &actions.Definition{Type: actions.Type(kind)}
	content := ""
	shown := action{Type: kind, RetryPolicy: a.RetryPolicy, ErrorAction: a.ErrorAction} // with the content of the type alone
	switch kind {
	case "Http", "Https":
		d.Type, content = actions.TypeHTTP, "request"
		if shown.Request = a.Request; shown.Request != nil {
			d.HTTP = t.request(path+".request", kind, shown.Request, old)
		}
	case "StorageQueue":
		content = "queueMessage"
		if shown.QueueMessage = a.QueueMessage; shown.QueueMessage != nil {
			d.StorageQueue = t.storageQueue(path+".queueMessage", shown.QueueMessage, old)
		}
	case "ServiceBusQueue":
		content = "serviceBusQueueMessage"
		if shown.ServiceBusQueueMessage = a.ServiceBusQueueMessage; shown.ServiceBusQueueMessage != nil {
			shown.ServiceBusQueueMessage.TopicPath = ""
			d.ServiceBus = t.serviceBus(path+".serviceBusQueueMessage", shown.ServiceBusQueueMessage, old)
		}
	case "ServiceBusTopic":
		content = "serviceBusTopicMessage"
		if shown.ServiceBusTopicMessage = a.ServiceBusTopicMessage; shown.ServiceBusTopicMessage != nil {
			shown.ServiceBusTopicMessage.QueueName = ""
			d.ServiceBus = t.serviceBus(path+".serviceBusTopicMessage", shown.ServiceBusTopicMessage, old)
		}
	}
	*a = shown
	step := scheduler.Action{Type: string(d.Type)}
	step.Retries, step.RetryInterval = t.retryPolicy(path+".retryPolicy", a.RetryPolicy)
	if d.HTTP == nil && d.StorageQueue == nil && d.ServiceBus == nil {
		t.fault(path+"."+content, "Missing %s: an action of the type %s needs it.", content, kind)
		return step
	}
	step.Command = d.Encode()
	t.check(path+"."+content, d, step.Command)
	return step
}

// check finds the faults of a definition, and completes what depends on its hosts.
func (t *translator) check(path string, d *actions.Definition, command string) {
	known := map[string]bool{}
	for _, f := range t.faults {
		known[f.Target] = true
	}
	_, err := actions.Decode(d.Type, command)
	var wrong *actions.Faults
	if errors.As(err, &wrong) {
		for _, f := range wrong.List {
			target := path + elementOf(d.Type, f.Path)
			if !known[target] {
				known[target] = true
				t.fault(target, "Invalid %s: %s.", strings.TrimPrefix(target, "$.properties."), strings.TrimSuffix(f.Message, "."))
			}
		}
		return
	}
	for _, host := range hostsOf(d) {
		if err := t.guard(host); err != nil {
			t.fault(path+elementOf(d.Type, addressElement(d)), "Invalid address: %s.", err)
		}
	}
}

func addressElement(d *actions.Definition) string {
	switch {
	case d.HTTP != nil:
		return "$.url"
	case d.StorageQueue != nil:
		return "$.account"
	}
	return "$.namespace"
}

// elements are the elements of the API by those of definitions.
var elements = map[string]string{
	"$.url": ".uri", "$.method": ".method", "$.body": ".body", "$.headers": ".headers", "$.auth.username": ".authentication.username",
	"$.auth.password": ".authentication.password", "$.auth.client_secret": ".authentication.secret",
	"$.auth.client_id": ".authentication.clientId", "$.auth.scope": ".authentication.audience",
	"$.auth.token_url": ".authentication.tenant", "$.auth.certificate": ".authentication.pfx", "$.auth": ".authentication",
	"$.account": ".storageAccount", "$.sas_token": ".sasToken", "$.message": ".message",
	"$.namespace": ".namespace", "$.topic": ".topicPath", "$.queue": ".queueName", "$.key_name": ".authentication.sasKeyName",
	"$.key": ".authentication.sasKey", "$.properties": ".customMessageProperties", "$.broker_properties": ".brokeredMessageProperties",
}

// elementOf returns the element of the API for a path of a definition, from the content of the
// action on.
func elementOf(kind actions.Type, path string) string {
	for at := path; at != "$" && at != ""; {
		if name, ok := elements[at]; ok {
			if kind == actions.TypeHTTP && strings.HasPrefix(path, "$.headers.") {
				return name + strings.TrimPrefix(path, "$.headers")
			}
			return name
		}
		i := strings.LastIndexAny(at, ".[")
		if i < 0 {
			break
		}
		at = at[:i]
	}
	return ""
}

// hostsOf returns host:port of everything that an action talks to, sorted. Each is a pattern of the
// hosts that may receive a secret.
func hostsOf(d *actions.Definition) (hosts []string) {
	for _, address := range d.Addresses(1) {
		scheme, rest, _ := strings.Cut(address, "://")
		host := rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			host = rest[:i]
		}
		host = strings.ToLower(host)
		if i := strings.LastIndexByte(host, ':'); i < 0 || strings.HasSuffix(host, "]") {
			port := map[string]string{"http": "80", "https": "443", "amqps": "5671"}[strings.ToLower(scheme)]
			host += ":" + port
		}
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// retryPolicy returns the retries of an action (D-A12).
func (t *translator) retryPolicy(path string, p *retryPolicy) (retries, interval int) {
	retries, interval = defaultRetries, defaultInterval
	if p == nil {
		return retries, interval
	}
	kind, ok := canonical(p.RetryType, "none", "fixed")
	if !ok {
		t.fault(path+".retryType", "Invalid retryType '%.40s': want Fixed or None.", p.RetryType)
	}
	p.RetryType = kind
	if kind == "none" {
		p.RetryInterval, p.RetryCount = "", nil
		return 0, interval
	}
	if p.RetryInterval == "" {
		p.RetryInterval = "00:00:30"
	}
	seconds, ok := isoduration.ParseSeconds(p.RetryInterval)
	switch {
	case !ok:
		t.fault(path+".retryInterval", "Invalid retryInterval '%.40s': want a duration such as PT30S, P1D or 00:00:30.", p.RetryInterval)
	case seconds < minInterval || seconds > maxInterval:
		t.fault(path+".retryInterval", "Invalid retryInterval '%.40s': want 15 seconds to %d seconds (24 days).", p.RetryInterval, maxInterval)
	default:
		interval = int(seconds)
	}
	if p.RetryCount == nil {
		count := defaultRetries
		p.RetryCount = &count
	}
	retries = *p.RetryCount
	if retries < 0 || retries > maxRetries {
		t.fault(path+".retryCount", "Invalid retryCount %d: want 0 to %d.", retries, maxRetries)
		retries = 0
	}
	return retries, interval
}

// bodyText checks the length of a body or message.
func (t *translator) bodyText(path, text string) string {
	if n := utf8.RuneCountInString(text); n > maxBody {
		t.fault(path, "Invalid %s of %d characters: want at most %d.", path[strings.LastIndexByte(path, '.')+1:], n, maxBody)
	}
	return literal(text)
}

func (t *translator) storageQueue(path string, q *queueMessage, old former) *actions.StorageQueue {
	d := &actions.StorageQueue{
		Account: literal(q.StorageAccount), Queue: literal(q.QueueName), Message: t.bodyText(path+".message", q.Message),
		Base64: true, Envelope: actions.EnvelopeAzureScheduler, EnvelopeRegion: t.region,
		AllowHTTP: strings.HasPrefix(strings.ToLower(q.StorageAccount), "http://"),
	}
	if !strings.ContainsAny(q.StorageAccount, ".:/") {
		d.Account = strings.ToLower(d.Account)
	}
	if t.cfg.QueueEncoding == "none" {
		d.Base64, d.Envelope, d.EnvelopeRegion = false, "", ""
	}
	kept := keeper{was: old.definition != nil && old.definition.StorageQueue != nil}
	if kept.was {
		was := old.definition.StorageQueue
		kept.template, kept.hosts = was.SASToken, old.hosts
		kept.same = was.Account == d.Account && was.Queue == d.Queue
	}
	d.SASToken = t.secret(path+".sasToken", q.SASToken.Set, q.SASToken.Value, kept, hostsOf(&actions.Definition{StorageQueue: d}))
	q.SASToken.Set = false
	return d
}

func (t *translator) serviceBus(path string, m *busMessage, old former) *actions.ServiceBus {
	d := &actions.ServiceBus{
		Namespace: literal(m.Namespace), Entity: literal(m.QueueName + m.TopicPath), Message: t.bodyText(path+".message", m.Message),
		AMQP: true, // for both types of transport
	}
	transport, ok := canonical(m.TransportType, "notSpecified", "netMessaging", "amqp")
	if m.TransportType != "" && !ok {
		t.fault(path+".transportType", "Invalid transportType '%.40s': want NotSpecified, NetMessaging or AMQP.", m.TransportType)
	}
	m.TransportType = transport
	if b := m.BrokerProperties; b != nil {
		t.broker(path+".brokeredMessageProperties", b, d)
	}
	for _, name := range slices.Sorted(maps.Keys(m.CustomProperties)) {
		d.Properties = append(d.Properties, actions.Property{Name: name, Value: literal(m.CustomProperties[name])})
	}
	a := m.Authentication
	if a == nil {
		return d
	}
	kind, ok := canonical(a.Type, "notSpecified", "sharedAccessKey")
	if a.Type != "" && !ok {
		t.fault(path+".authentication.type", "Invalid type '%.40s' of the authentication: want SharedAccessKey or NotSpecified.", a.Type)
	}
	a.Type = kind
	if kind == "notSpecified" || kind == "" && a.SASKeyName == "" && !a.SASKey.Set {
		a.SASKey.Set, a.SASKeyName = false, ""
		return d
	}
	a.Type = "sharedAccessKey"
	d.KeyName = literal(a.SASKeyName)
	if a.SASKeyName == "" {
		t.fault(path+".authentication.sasKeyName", "Missing sasKeyName.")
	}
	kept := keeper{was: old.definition != nil && old.definition.ServiceBus != nil && old.definition.ServiceBus.Key != ""}
	if kept.was {
		was := old.definition.ServiceBus
		kept.template, kept.hosts = was.Key, old.hosts
		kept.same = was.Namespace == d.Namespace && was.KeyName == d.KeyName
	}
	d.Key = t.secret(path+".authentication.sasKey", a.SASKey.Set, a.SASKey.Value, kept, hostsOf(&actions.Definition{ServiceBus: d}))
	a.SASKey.Set = false
	return d
}

// broker translates the properties that Service Bus knows.
func (t *translator) broker(path string, b *brokerProperties, d *actions.ServiceBus) {
	d.ContentType = literal(b.ContentType)
	d.Broker = actions.BrokerProperties{
		CorrelationID: literal(b.CorrelationID), Label: literal(b.Label), MessageID: literal(b.MessageID),
		PartitionKey: literal(b.PartitionKey), ReplyTo: literal(b.ReplyTo), ReplyToSessionID: literal(b.ReplyToSessionID),
		SessionID: literal(b.SessionID), To: literal(b.To), ViaPartitionKey: literal(b.ViaPartitionKey),
		ForcePersistence: b.ForcePersistence != nil && *b.ForcePersistence,
	}
	if b.TimeToLive != "" {
		seconds, ok := isoduration.ParseSeconds(b.TimeToLive)
		if !ok || seconds < 1 || seconds > 1<<31-1 {
			t.fault(path+".timeToLive", "Invalid timeToLive '%.40s': want a duration such as PT1H or 01:00:00.", b.TimeToLive)
		}
		d.Broker.TimeToLive = time.Duration(seconds) * time.Second
	}
	if b.ScheduledEnqueueTimeUTC != "" {
		at, ok := parseTime(b.ScheduledEnqueueTimeUTC)
		if !ok {
			t.fault(path+".scheduledEnqueueTimeUtc", "Invalid scheduledEnqueueTimeUtc '%.40s': want a time such as 2026-01-31T22:00:00Z.",
				b.ScheduledEnqueueTimeUTC)
		}
		d.Broker.ScheduledEnqueueTime = at.UTC()
	}
}

// keeper says whether a stored secret may be kept when a request omits it.
type keeper struct {
	was      bool     // there is one
	template string   // its place in the stored definition
	same     bool     // the public half is unchanged
	hosts    []string // to which it is bound
}

// secret returns the template of a secret: of the given one, which is new, or of the stored one.
// hosts are those that the action talks to.
func (t *translator) secret(path string, given bool, value string, kept keeper, hosts []string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if given && value != masked {
		if value == "" {
			t.fault(path, "Invalid %s: want a text; the whole authentication may be removed.", name)
			return "$(secret.missing)"
		}
		return t.seal(value, hosts)
	}
	switch {
	case !kept.was || kept.template == "":
		t.fault(path, "Missing %s: none is stored.", name)
	case !kept.same:
		t.fault(path, "Missing %s: the stored one belongs to other settings, and cannot be used with these.", name)
	case !slices.Equal(kept.hosts, hosts):
		t.fault(path, "Missing %s: the stored one is bound to the former host.", name)
	default:
		return kept.template
	}
	return "$(secret.missing)"
}

// seal returns the template of a new secret.
func (t *translator) seal(value string, hosts []string) string {
	name, err := secret.RESTName(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	if len(value) > secret.MaxLength {
		value = value[:secret.MaxLength+1] // sealing refuses it
	}
	t.secrets = append(t.secrets, newSecret{name, value, hosts})
	return "$(secret." + name + ")"
}

// sealed seals the new secrets for the agents of a control database.
func (t *translator) sealed(ctx context.Context, store *controldb.Store) ([]scheduler.Secret, error) {
	var list []scheduler.Secret
	for _, n := range t.secrets {
		text, err := secrets.On(store).Seal(ctx, secret.Place{Owner: secret.OwnerREST, Name: n.name, Version: 1, Hosts: n.hosts}, n.value)
		if err != nil {
			return nil, err
		}
		list = append(list, scheduler.Secret{Name: n.name, Sealed: json.RawMessage(text)})
	}
	return list, nil
}
