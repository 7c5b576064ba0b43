package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/isoduration"
)

// The steps of a job of Azure Scheduler have the names of its history.
const (
	azureMainStep  = "MainAction"
	azureErrorStep = "ErrorAction"
)

// azureAction adds the steps of the job's action and error action. name is the name of the job in
// its collection.
func (r *Result) azureAction(job *Job, collection, name string, body *object) {
	main := Step{Name: azureMainStep, TargetGroup: TargetGroup{Name: r.opts.TargetGroup}, Attempts: 4, Interval: 30, Timeout: 43200}
	o := body.object("action")
	if o == nil {
		r.lost(job.Name, body.at("action"), "the job has no action: write its step")
		main.Action, main.TargetGroup = "nothing", r.placeholder()
		job.Steps = append(job.Steps, main)
		return
	}
	c := azureActionConverter{Result: r, job: job.Name, collection: collection, name: name}
	c.retryPolicy(o, &main)
	c.action(o, &main)
	job.Steps = append(job.Steps, main)
	if e := o.object("errorAction"); e != nil {
		step := Step{
			Name: azureErrorStep, TargetGroup: main.TargetGroup, Attempts: main.Attempts, Interval: main.Interval, Timeout: main.Timeout,
			After: []string{azureMainStep}, RunWhen: "Failed",
		}
		c.place = "error."
		c.retryPolicy(e, &step)
		c.action(e, &step)
		r.restOf(job.Name, e)
		if main.Command == "" && step.Command != "" {
			// The script would have a step that follows a comment.
			step.Action, step.Command = c.what, ""
			r.lost(job.Name, e.path, "the error action is not created, because its action is not")
		}
		job.Steps = append(job.Steps, step)
	}
	r.restOf(job.Name, o)
}

// azureActionConverter converts one action or error action.
type azureActionConverter struct {
	*Result
	job, collection, name string
	place                 string // tells the secrets of both actions apart
	what                  string // describes the action
}

// retryPolicy copies the retry policy of an action. Azure Scheduler reads it in the action; its own
// documentation shows it in the request.
func (c *azureActionConverter) retryPolicy(o *object, step *Step) {
	if p := o.object("retryPolicy"); p != nil {
		c.azureRetry(c.job, p, step)
		return
	}
	for _, name := range []string{"request", "queueMessage", "serviceBusQueueMessage", "serviceBusTopicMessage"} {
		q, ok := asObject(o.members[name], o.at(name))
		if !ok {
			continue
		}
		if p := q.object("retryPolicy"); p != nil {
			c.changed(c.job, p.path, "a retry policy belongs into the action: it is taken from here, because the action has none")
			c.azureRetry(c.job, p, step)
		}
	}
}

// action converts the action that o describes.
func (c *azureActionConverter) action(o *object, step *Step) {
	kind := o.text("type")
	switch {
	case o.has("request"):
		c.request(o.object("request"), step)
	case o.has("queueMessage"):
		c.storageQueue(o.object("queueMessage"), step)
	case o.has("serviceBusQueueMessage"):
		c.serviceBus(o.object("serviceBusQueueMessage"), step, action.TypeServiceBusQueue, "queueName", "queue")
	case o.has("serviceBusTopicMessage"):
		c.serviceBus(o.object("serviceBusTopicMessage"), step, action.TypeServiceBusTopic, "topicPath", "topic")
	default:
		c.what = "an action of the type " + kind
		c.lost(c.job, o.path, "%s has no content: write its step", c.what)
		step.Action = c.what
		if step.TargetGroup.Name == "" {
			step.TargetGroup = c.placeholder()
		}
	}
}

// secretAt returns the template of a secret of this action.
func (c *azureActionConverter) secretAt(element, name, what string) string {
	return c.secret(c.job, element, c.place+name, what)
}

func (c *azureActionConverter) request(q *object, step *Step) {
	method := strings.ToUpper(q.text("method"))
	if method == "" {
		method = "GET"
	}
	uri := q.text("uri")
	c.what = fmt.Sprintf("HTTP %s %s", method, address(uri))
	h := &action.HTTP{Method: method, Success: action.Success{Preset: action.PresetAzure}, ResponseTimeout: time.Minute}
	text, user := c.requestURL(c.job, q.at("uri"), c.place+"uri.", uri)
	h.URL, h.AllowHTTP = text, strings.HasPrefix(strings.ToLower(text), "http://")
	headers := q.object("headers")
	if a, ok := asObject(q.members["authentication"], ""); ok && headers != nil && headers.has("Authorization") && a.has("type") {
		c.lost(c.job, headers.at("Authorization"), "the request has an authentication, too, which is taken")
		maps.DeleteFunc(headers.members, func(name string, _ any) bool { return strings.EqualFold(name, "Authorization") })
	}
	h.Headers = c.headers(c.job, c.place+"header.", headers)
	if c.collection != "" {
		h.Headers = append(h.Headers, action.Field{Name: "x-ms-scheduler-jobcollectionid", Value: literal(c.collection)})
	}
	if b := q.take("body"); b != nil && b != "" {
		if method == "GET" || method == "HEAD" {
			c.lost(c.job, q.at("body"), "a body of %s: requests with the method %s have none", size(b), method)
		} else {
			h.Body = []byte(c.body(c.job, q.at("body"), c.place+"body.", jsonText(b)))
		}
	}
	h.Auth = c.authentication(q)
	switch {
	case user == nil:
	case h.Auth == nil:
		h.Auth = &action.Auth{Kind: "basic", Username: literal(user.Username()), Password: c.secretAt(q.at("uri"), "password", "the password in the URL")}
		c.changed(c.job, q.at("uri"), "user and password of the URL become basic authentication")
	default:
		c.lost(c.job, q.at("uri"), "user and password of the URL: the request has another authentication")
	}
	q.take("retryPolicy") // see retryPolicy
	c.restOf(c.job, q)
	c.setAction(c.job, q.path, c.what, step, &action.Definition{Type: action.TypeHTTP, HTTP: h})
}

// authentication converts the authentication of a request.
func (c *azureActionConverter) authentication(q *object) *action.Auth {
	a := q.object("authentication")
	if a == nil {
		return nil
	}
	defer c.restOf(c.job, a)
	switch kind := a.text("type"); strings.ToLower(kind) {
	case "basic":
		a.ignore("password")
		return &action.Auth{Kind: "basic", Username: literal(a.text("username")), Password: c.secretAt(a.at("password"), "password", "the password")}
	case "clientcertificate":
		a.ignore("pfx", "password", "certificateThumbprint", "certificateSubjectName", "certificateExpiration", "certificateExpirationDate")
		return &action.Auth{Kind: "client-certificate", Certificate: c.secretAt(a.at("pfx"), "certificate",
			"the certificate with its key (PEM; openssl pkcs12 -nodes converts a PFX)")}
	case "activedirectoryoauth":
		a.ignore("secret")
		return &action.Auth{
			Kind: "oauth2-client-credentials", TokenURL: "https://login.microsoftonline.com/" + literal(a.text("tenant")) + "/oauth2/v2.0/token",
			ClientID: literal(a.text("clientId")), ClientSecret: c.secretAt(a.at("secret"), "secret", "the client secret"),
			Scope: literal(a.text("audience")) + "/.default",
		}
	case "", "notspecified":
	default:
		c.lost(c.job, a.path, "invalid type %q of authentication", kind)
	}
	return nil
}

func (c *azureActionConverter) storageQueue(q *object, step *Step) {
	account, queue := q.text("storageAccount"), q.text("queueName")
	c.what = fmt.Sprintf("a message to the queue %q of the storage account %q", queue, account)
	q.ignore("sasToken")
	d := &action.StorageQueue{
		Account: literal(c.lower(q.at("storageAccount"), account)), Queue: literal(c.lower(q.at("queueName"), queue)),
		Message:  c.body(c.job, q.at("message"), c.place+"message.", jsonText(q.take("message"))),
		SASToken: c.secretAt(q.at("sasToken"), "sas", "the shared access signature"),
		// Azure Scheduler's messages are base64, which the clients of that time decode.
		Base64: true, Envelope: action.EnvelopeAzureScheduler, EnvelopeCollection: literal(c.collection),
	}
	q.take("retryPolicy")
	c.restOf(c.job, q)
	c.setAction(c.job, q.path, c.what, step, &action.Definition{Type: action.TypeStorageQueue, StorageQueue: d})
}

// lower returns a name of Azure Storage, which has lower-case letters only.
func (c *azureActionConverter) lower(element, name string) string {
	lower := strings.ToLower(name)
	if lower != name && !strings.Contains(name, "/") {
		c.changed(c.job, element, "%q becomes %q: such names have lower-case letters", name, lower)
		return lower
	}
	return name
}

func (c *azureActionConverter) serviceBus(q *object, step *Step, kind action.Type, entity, noun string) {
	namespace, path := q.text("namespace"), q.text(entity)
	c.what = fmt.Sprintf("a message to the Service Bus %s %q in the namespace %q", noun, path, namespace)
	d := &action.ServiceBus{
		Namespace: literal(namespace), Entity: literal(path), AMQP: strings.EqualFold(q.text("transportType"), "AMQP"),
		Message: c.body(c.job, q.at("message"), c.place+"message.", jsonText(q.take("message"))),
	}
	if a := q.object("authentication"); a != nil {
		a.ignore("type", "sasKey")
		if d.KeyName = literal(a.text("sasKeyName")); d.KeyName != "" {
			d.Key = c.secretAt(a.at("sasKey"), "key", "the shared access key")
		}
		c.restOf(c.job, a)
	}
	if p := q.object("brokeredMessageProperties"); p != nil {
		c.brokerProperties(p, d)
	}
	if p := q.object("customMessageProperties"); p != nil {
		for _, name := range slices.Sorted(maps.Keys(p.members)) {
			value := literal(p.text(name))
			if value != "" && secretName.MatchString(name) {
				value = c.secretAt(p.at(name), "property."+name, fmt.Sprintf("the property %q", name))
			}
			d.Properties = append(d.Properties, action.Property{Name: name, Value: value})
		}
		c.restOf(c.job, p)
	}
	for _, p := range d.Properties {
		if reason := p.HeaderFault(); reason != "" && !d.AMQP {
			d.AMQP = true
			c.changed(c.job, q.at("customMessageProperties"), "the message is sent by AMQP, because HTTPS cannot send the property %q: %s", p.Name, reason)
		}
	}
	q.take("retryPolicy")
	c.restOf(c.job, q)
	c.setAction(c.job, q.path, c.what, step, &action.Definition{Type: kind, ServiceBus: d})
}

// brokerProperties converts the properties that Service Bus knows.
func (c *azureActionConverter) brokerProperties(p *object, d *action.ServiceBus) {
	b := &d.Broker
	d.ContentType = literal(p.text("contentType"))
	for name, text := range map[string]*string{
		"correlationId": &b.CorrelationID, "label": &b.Label, "messageId": &b.MessageID, "partitionKey": &b.PartitionKey, "replyTo": &b.ReplyTo,
		"replyToSessionId": &b.ReplyToSessionID, "sessionId": &b.SessionID, "to": &b.To, "viaPartitionKey": &b.ViaPartitionKey,
	} {
		*text = literal(p.text(name))
	}
	b.ForcePersistence, _ = strconv.ParseBool(p.text("forcePersistence"))
	if text := p.text("timeToLive"); text != "" {
		if seconds, ok := isoduration.ParseSeconds(text); ok && seconds > 0 {
			b.TimeToLive = time.Duration(seconds) * time.Second
		} else {
			c.lost(c.job, p.at("timeToLive"), "invalid duration %q", text)
		}
	}
	if text := p.text("scheduledEnqueueTimeUtc"); text != "" {
		if b.ScheduledEnqueueTime = parseTime(text); b.ScheduledEnqueueTime.IsZero() {
			c.lost(c.job, p.at("scheduledEnqueueTimeUtc"), "invalid time %q", text)
		}
	}
	c.restOf(c.job, p)
}
