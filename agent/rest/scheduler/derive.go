package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb/scheduler"
	actions "github.com/jobagent/jobagent/jobs/action"
)

// derived returns the action of a job that was defined in T-SQL: what the API can say of it.
func derived(j scheduler.Job) *action {
	a := derivedAction(j.Main())
	if e := j.Error(); e != nil {
		a.ErrorAction = derivedAction(*e)
	}
	return a
}

func derivedAction(step scheduler.Action) *action {
	a := &action{Type: step.Type, RetryPolicy: &retryPolicy{
		RetryType: "fixed", RetryInterval: clock(step.RetryInterval), RetryCount: &step.Retries,
	}}
	d, err := actions.Decode(actions.Type(step.Type), step.Command)
	if err != nil {
		return a
	}
	switch {
	case d.HTTP != nil:
		a.Request = derivedRequest(d.HTTP)
		if strings.HasPrefix(strings.ToLower(d.HTTP.URL), "https:") {
			a.Type = "Https"
		}
	case d.StorageQueue != nil:
		q := d.StorageQueue
		a.QueueMessage = &queueMessage{StorageAccount: plain(q.Account), QueueName: plain(q.Queue), Message: plain(q.Message)}
	case d.ServiceBus != nil:
		a.derivedBus(d)
	}
	return a
}

func derivedRequest(h *actions.HTTP) *request {
	q := &request{URI: plain(h.URL), Method: h.Method, Body: plain(string(h.Body))}
	if s := splitSignature(h.URL); s.found {
		q.URI = plain(s.before) + masked + plain(s.after)
	}
	for _, f := range h.Headers {
		if q.Headers == nil {
			q.Headers = map[string]string{}
		}
		value := plain(f.Value)
		if strings.Contains(f.Value, "$(secret.") {
			value = masked
		}
		q.Headers[f.Name] = value
	}
	switch a := h.Auth; {
	case a == nil:
	case a.Kind == "basic":
		q.Authentication = &authentication{Type: "Basic", Username: plain(a.Username)}
	case a.Kind == "client-certificate":
		q.Authentication = &authentication{Type: "ClientCertificate"}
	case a.Kind == "oauth2-client-credentials":
		q.Authentication = &authentication{
			Type: "ActiveDirectoryOAuth", ClientID: plain(a.ClientID), Audience: strings.TrimSuffix(plain(a.Scope), "/.default"),
		}
	}
	return q
}

func (a *action) derivedBus(d *actions.Definition) {
	b := d.ServiceBus
	m := &busMessage{Namespace: plain(b.Namespace), Message: plain(b.Message), TransportType: "netMessaging"}
	if b.AMQP {
		m.TransportType = "amqp"
	}
	if b.KeyName != "" {
		m.Authentication = &busAuthentication{Type: "sharedAccessKey", SASKeyName: plain(b.KeyName)}
	}
	for _, p := range b.Properties {
		if m.CustomProperties == nil {
			m.CustomProperties = map[string]string{}
		}
		m.CustomProperties[p.Name] = plain(fmt.Sprint(p.Value))
	}
	if d.Type == actions.TypeServiceBusTopic {
		m.TopicPath = plain(b.Entity)
		a.ServiceBusTopicMessage = m
		return
	}
	m.QueueName = plain(b.Entity)
	a.ServiceBusQueueMessage = m
}

// clock returns a duration as .NET writes it: d.hh:mm:ss.
func clock(seconds int) string {
	d := time.Duration(seconds) * time.Second
	text := fmt.Sprintf("%02d:%02d:%02d", int(d.Hours())%24, int(d.Minutes())%60, seconds%60)
	if days := int(d.Hours()) / 24; days > 0 {
		text = fmt.Sprintf("%d.%s", days, text)
	}
	return text
}
