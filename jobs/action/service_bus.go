package action

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ServiceBus is a message for a queue or topic of Azure Service Bus.
type ServiceBus struct {
	// Namespace is a name, or a host.
	Namespace string
	// Entity is the path of the queue or topic.
	Entity  string
	Message string
	// ContentType is the content type of the message; empty means none.
	ContentType string
	// AMQP sends by AMQP 1.0 instead of HTTPS.
	AMQP bool
	// KeyName and Key are the name and the value of a shared access key; Key is a template
	// $(secret.name). Both are empty when the step's credential authorizes.
	KeyName, Key string
	// Properties are the application properties, with values of type string, bool, int64 or
	// float64.
	Properties []Property
	Broker     BrokerProperties
}

// Property is an application property of a message.
type Property struct {
	Name  string
	Value any
}

// BrokerProperties are the standard properties of a Service Bus message; zero values are not sent.
type BrokerProperties struct {
	CorrelationID        string
	ForcePersistence     bool
	Label                string
	MessageID            string
	PartitionKey         string
	ReplyTo              string
	ReplyToSessionID     string
	ScheduledEnqueueTime time.Time
	SessionID            string
	TimeToLive           time.Duration
	To                   string
	ViaPartitionKey      string
}

// serviceBusQueueInfo and serviceBusTopicInfo describe the types.
var (
	serviceBusQueueInfo = Info{
		Type: TypeServiceBusQueue, Member: "service_bus_queue", Flag: "service-bus-queue", Place: []string{"namespace", "queue"},
		Usage: "send a message to the queue `NAMESPACE/QUEUE` of Azure Service Bus", Does: "sends a message to a queue", Notifies: true,
		members: append([]string{"queue"}, serviceBusMembers...),
		decode:  func(d *Definition, o *object) { d.ServiceBus = decodeServiceBus(o, "queue") },
	}
	serviceBusTopicInfo = Info{
		Type: TypeServiceBusTopic, Member: "service_bus_topic", Flag: "service-bus-topic", Place: []string{"namespace", "topic"},
		Usage: "send a message to the topic `NAMESPACE/TOPIC` of Azure Service Bus", Does: "sends a message to a topic", Notifies: true,
		members: append([]string{"topic"}, serviceBusMembers...),
		decode:  func(d *Definition, o *object) { d.ServiceBus = decodeServiceBus(o, "topic") },
	}
)

var serviceBusMembers = []string{
	"namespace", "message", "content_type", "transport", "key_name", "key", "properties", "broker_properties", "callback",
}

// busEntity is a message with the noun of its receiver, which is also the name of the member: queue
// or topic.
type busEntity struct {
	*ServiceBus
	noun string
}

func decodeServiceBus(o *object, entity string) *ServiceBus {
	b := &ServiceBus{
		Namespace: o.required("namespace"), Entity: o.required(entity), Message: decodeMessage(o), ContentType: o.text("content_type"),
		AMQP:    o.choice("transport", "https", "https", "amqp") == "amqp",
		KeyName: o.text("key_name"), Key: o.text("key"),
	}
	if m := o.get("message"); m != nil && m.Kind != '"' && b.ContentType == "" {
		b.ContentType = "application/json"
	}
	if m := o.ofKind("properties", "an object"); m != nil {
		list := newObject(o.faults, m, nil).members
		if len(list) > maxProperties {
			o.faults.add(pathOf(m), "invalid object of %d members: want at most %d", len(list), maxProperties)
		}
		for _, p := range list {
			if value, ok := propertyValue(p); ok {
				b.Properties = append(b.Properties, Property{Name: p.Name, Value: value})
			} else {
				o.faults.add(pathOf(p), "invalid value: want a string, a number, true or false, not %s", kind(p))
			}
		}
	}
	if m := o.ofKind("broker_properties", "an object"); m != nil {
		names := []string{"force_persistence", "scheduled_enqueue_time", "time_to_live_seconds"}
		for _, p := range b.Broker.texts() {
			names = append(names, p.name)
		}
		broker := newObject(o.faults, m, names)
		for _, p := range b.Broker.texts() {
			*p.text = broker.text(p.name)
		}
		b.Broker.ForcePersistence = broker.boolean("force_persistence")
		b.Broker.TimeToLive = time.Duration(broker.integer("time_to_live_seconds", 1, 1<<31-1, 0)) * time.Second
		if text := broker.text("scheduled_enqueue_time"); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				broker.faults.add(broker.at("scheduled_enqueue_time"), "invalid time %q: want RFC 3339 such as 2026-01-31T22:00:00Z", clip(text))
			}
			b.Broker.ScheduledEnqueueTime = t.UTC()
		}
	}
	return b
}

// propertyValue returns the value of an application property.
func propertyValue(v *member) (any, bool) {
	switch v.Kind {
	case '"':
		return v.Text, true
	case 't':
		return v.Raw == "true", true
	case '0':
		if n, err := strconv.ParseInt(v.Raw, 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(v.Raw, 64)
		return f, err == nil
	}
	return nil, false
}

func (b busEntity) encode(w *writer) {
	w.text("namespace", b.Namespace)
	w.text(b.noun, b.Entity)
	w.add("message", b.Message)
	w.text("content_type", b.ContentType)
	if b.AMQP {
		w.add("transport", "amqp")
	}
	w.text("key_name", b.KeyName)
	w.text("key", b.Key)
	if len(b.Properties) > 0 {
		var properties writer
		for _, p := range b.Properties {
			properties.add(p.Name, p.Value)
		}
		w.add("properties", properties.object())
	}
	var broker writer
	for _, p := range b.Broker.texts() {
		broker.text(p.name, *p.text)
	}
	broker.truth("force_persistence", b.Broker.ForcePersistence)
	if t := b.Broker.ScheduledEnqueueTime; !t.IsZero() {
		broker.add("scheduled_enqueue_time", t.Format(time.RFC3339))
	}
	broker.number("time_to_live_seconds", int64(b.Broker.TimeToLive/time.Second))
	if broker.b.Len() > 0 {
		w.add("broker_properties", broker.object())
	}
}

func (b busEntity) slots(l *slotList) {
	l.add("$.namespace", placeHost, &b.Namespace)
	l.add("$."+b.noun, placeName, &b.Entity)
	l.add("$.message", contentPlace(b.ContentType, b.Message), &b.Message)
	l.add("$.content_type", placeHeader, &b.ContentType)
	l.add("$.key_name", placeText, &b.KeyName)
	l.secret("$.key", placeText, &b.Key)
	for i := range b.Properties {
		if text, ok := b.Properties[i].Value.(string); ok {
			l.all = append(l.all, slot{path: memberPath("$.properties", b.Properties[i].Name), place: placeHeader, text: text, set: func(s string) { b.Properties[i].Value = s }})
		}
	}
	for _, p := range b.Broker.texts() {
		l.add(memberPath("$.broker_properties", p.name), placeHeader, p.text)
	}
}

var (
	busNamespace  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{4,48}[A-Za-z0-9]$`)
	busEntityName = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._/~-]*[A-Za-z0-9_])?$`)
)

func (b busEntity) check(c checker) {
	switch {
	case b.Namespace == "" || c.open(b.Namespace):
	case strings.ContainsAny(b.Namespace, ".:"):
		if message := hostMessage(b.Namespace); message != "" {
			c.fault("$.namespace", "invalid namespace %q: %s", clip(b.Namespace), message)
		}
	case !busNamespace.MatchString(b.Namespace):
		c.fault("$.namespace", "invalid namespace %q: want 6 to 50 letters, digits and hyphens that begin with a letter, or a host", clip(b.Namespace))
	}
	if b.Entity != "" && !c.open(b.Entity) && (!busEntityName.MatchString(b.Entity) || len(b.Entity) > 260 || strings.Contains(b.Entity, "//")) {
		c.fault("$."+b.noun, "invalid name %q: want 1 to 260 letters, digits, dots, hyphens, underscores and slashes", clip(b.Entity))
	}
	c.limit("$.message", b.Message, "bytes", maxServiceBusText)
	if strings.ContainsFunc(b.ContentType, isControl) {
		c.fault("$.content_type", "invalid value: want no line breaks and other control characters")
	}
	if (b.KeyName == "") != (b.Key == "") {
		c.fault("$.key", "a shared access key has a name and a value: want both key_name and key, or a credential of the step")
	}
	names := map[string]bool{}
	for _, p := range b.Properties {
		path := memberPath("$.properties", p.Name)
		text, _ := p.Value.(string)
		folded := strings.ToLower(p.Name)
		twice := names[folded]
		names[folded] = true
		if c.open(text) {
			p.Value = "" // checked when the text is known
		}
		switch {
		case p.Name == "" || utf8.RuneCountInString(p.Name) > 128 || strings.ContainsFunc(p.Name, isControl):
			c.fault(path, "invalid property name %q: want 1 to 128 characters", clip(p.Name))
		case !b.AMQP && !token.MatchString(p.Name):
			c.fault(path, "invalid property name %q: want letters, digits and hyphens, or \"transport\": \"amqp\"", clip(p.Name))
		case strings.ContainsFunc(text, isControl):
			c.fault(path, "invalid value: want no line breaks and other control characters")
		case !b.AMQP && twice:
			c.fault(path, "invalid property name %q: it differs only in case from another one; want \"transport\": \"amqp\"", clip(p.Name))
		case !b.AMQP && p.HeaderFault() != "":
			c.fault(path, "HTTPS cannot send the property: %s; want \"transport\": \"amqp\"", p.HeaderFault())
		}
	}
	for _, p := range b.Broker.texts() {
		path := memberPath("$.broker_properties", p.name)
		text := c.sample(*p.text, "")
		switch {
		case strings.ContainsFunc(text, isControl):
			c.fault(path, "invalid value: want no line breaks and other control characters")
		case slices.Contains([]string{"message_id", "session_id", "partition_key", "reply_to_session_id", "via_partition_key"}, p.name):
			if n := utf8.RuneCountInString(text); n > 128 {
				c.fault(path, "invalid text of %d characters: want at most 128", n)
			}
		}
	}
	if p := b.Broker; p.SessionID != "" && p.PartitionKey != "" && p.SessionID != p.PartitionKey {
		c.fault("$.broker_properties.partition_key", "invalid value: want the value of session_id")
	}
}

// brokerText is a text of the broker properties with the name of its member.
type brokerText struct {
	name string
	text *string
}

func (b *BrokerProperties) texts() []brokerText {
	return []brokerText{
		{"correlation_id", &b.CorrelationID},
		{"label", &b.Label},
		{"message_id", &b.MessageID},
		{"partition_key", &b.PartitionKey},
		{"reply_to", &b.ReplyTo},
		{"reply_to_session_id", &b.ReplyToSessionID},
		{"session_id", &b.SessionID},
		{"to", &b.To},
		{"via_partition_key", &b.ViaPartitionKey},
	}
}

// Host returns the host of the namespace, with a port if the definition has one.
func (b *ServiceBus) Host() string {
	if strings.ContainsAny(b.Namespace, ".:") {
		return b.Namespace
	}
	return b.Namespace + ".servicebus.windows.net"
}

func (b *ServiceBus) server() (string, error) { return serverOf("https://" + b.Host()) }

func (b *ServiceBus) addresses(int) []string {
	if b.AMQP {
		return []string{"amqps://" + b.Host()}
	}
	return []string{"https://" + b.Host()}
}

func (b *ServiceBus) addressed(d *Definition) *string {
	d.ServiceBus = &ServiceBus{Namespace: b.Namespace}
	return &d.ServiceBus.Namespace
}

func (b *ServiceBus) copyTo(d *Definition) {
	d.ServiceBus = new(*b)
	d.ServiceBus.Properties = slices.Clone(b.Properties)
}

func (b busEntity) parts(add func(name, text string)) {
	transport := "HTTPS"
	if b.AMQP {
		transport = "AMQP"
	}
	add(b.noun, b.Host()+"/"+b.Entity+" by "+transport)
	add("message", b.Message)
	add("content", b.ContentType)
	add("key", b.KeyName)
	for _, p := range b.Properties {
		add("property", fmt.Sprintf("%s: %v", p.Name, p.Value))
	}
	p := b.Broker
	for _, part := range [][2]string{
		{"correlation", p.CorrelationID}, {"label", p.Label}, {"message id", p.MessageID}, {"partition", p.PartitionKey},
		{"reply to", p.ReplyTo}, {"reply session", p.ReplyToSessionID}, {"session", p.SessionID}, {"to", p.To},
		{"via partition", p.ViaPartitionKey}, {"expires", notZero(p.TimeToLive)},
	} {
		add(part[0], part[1])
	}
	if !p.ScheduledEnqueueTime.IsZero() {
		add("enqueue at", p.ScheduledEnqueueTime.Format(time.RFC3339))
	}
}
