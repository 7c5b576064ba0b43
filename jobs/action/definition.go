package action

import (
	"slices"
	"time"
)

// Type is the type of a step's command: the parameter @command_type of jobs.sp_add_jobstep.
type Type string

const (
	// TypeTSQL is a T-SQL script. It is not an action, and has no Definition.
	TypeTSQL Type = "TSql"
	// TypeHTTP calls an HTTP or HTTPS endpoint.
	TypeHTTP Type = "Http"
	// TypeStorageQueue puts a message on an Azure Storage queue.
	TypeStorageQueue Type = "StorageQueue"
	// TypeServiceBusQueue sends a message to an Azure Service Bus queue.
	TypeServiceBusQueue Type = "ServiceBusQueue"
	// TypeServiceBusTopic sends a message to an Azure Service Bus topic.
	TypeServiceBusTopic Type = "ServiceBusTopic"
	// TypeProcess runs a process that the agent's configuration lists.
	TypeProcess Type = "Process"
	// TypeDrift compares the schemas of the targets. Agents only read, so the type has no callback,
	// no idempotency key and no endpoint.
	TypeDrift Type = "Drift"
)

// Info describes a type of commands.
type Info struct {
	Type Type
	// Member is the member of a step that contains the definition, in the files of jobagent apply.
	Member string
	// Flag is the flag of jobagent step that chooses the type, without dashes, and Usage its
	// description; empty for T-SQL.
	Flag, Usage string
	// Place are the two members of the flag's value, PARENT/NAME. The other members of a message
	// have flags that all types share. It is nil for types with flags of their own.
	Place []string
	// Does describes in words what a step of the type does.
	Does string
	// Notifies means that an alert channel may have the type.
	Notifies bool

	// members are the names of the members of a definition, and decode reads them. Both are nil for
	// T-SQL.
	members []string
	decode  func(*Definition, *object)
}

// infos has the types in the order of display.
var infos = []Info{
	{Type: TypeTSQL, Member: "command", Does: "runs a script"},
	httpInfo,
	storageQueueInfo,
	serviceBusQueueInfo,
	serviceBusTopicInfo,
	processInfo,
	driftInfo,
}

// Types returns all types of commands.
func Types() []Type {
	list := make([]Type, 0, len(infos))
	for _, i := range infos {
		list = append(list, i.Type)
	}
	return list
}

// Actions describes all types but T-SQL.
func Actions() []Info { return infos[1:] }

// Info describes the type; zero for an unknown one.
func (t Type) Info() Info {
	for _, i := range infos {
		if i.Type == t {
			return i
		}
	}
	return Info{}
}

// OfFlag returns the type that a flag of jobagent step chooses; empty for other flags.
func OfFlag(flag string) Type {
	for _, i := range Actions() {
		if i.Flag == flag {
			return i.Type
		}
	}
	return ""
}

// ChannelTypes returns the types of alert channels: the types of actions that notify, and the types
// that only channels have.
func ChannelTypes() []string {
	var list []string
	for _, i := range Actions() {
		if i.Notifies {
			list = append(list, string(i.Type))
		}
	}
	return append(list, "Mail", "Slack", "Teams")
}

// NamesOfActions lists the actions for a sentence: "Http, StorageQueue or Process".
func NamesOfActions() string {
	text := ""
	for i, a := range Actions() {
		switch i {
		case 0:
		case len(Actions()) - 1:
			text += " or "
		default:
			text += ", "
		}
		text += string(a.Type)
	}
	return text
}

// Has reports whether a definition of the type may have a member.
func (i Info) Has(member string) bool { return slices.Contains(i.members, member) }

// Definition is a decoded action. Exactly one of HTTP, StorageQueue, ServiceBus, Process and Drift
// is set; it agrees with Type.
type Definition struct {
	Type         Type
	HTTP         *HTTP
	StorageQueue *StorageQueue
	ServiceBus   *ServiceBus
	Process      *Process
	Drift        *Drift
	// Callback is nil unless a report from outside ends the action.
	Callback *Callback
	// Secrets are the clear texts of the secrets that Expand inserted; runners mask them in
	// everything that they return. Empty in a definition that is not expanded.
	Secrets []string
	// Bound are the secrets that Expand inserted and that only some hosts may receive.
	Bound []BoundSecret
}

// content is the part of a definition that depends on the type. The callback is not part of it.
type content interface {
	// encode writes the members, and check reports invalid values.
	encode(w *writer)
	check(c checker)
	// slots lists the texts that may contain templates.
	slots(l *slotList)
	// copyTo gives d a copy that shares nothing that Expand changes.
	copyTo(d *Definition)
	// server and addresses implement Server and Addresses of the definition. addressed sets a
	// content of d that has only the address, and returns the address.
	server() (string, error)
	addresses(attempt int) []string
	addressed(d *Definition) *string
	// parts calls add for the parts that people see; add ignores empty texts.
	parts(add func(name, text string))
}

// content returns the content of the type; nil if there is none.
func (d *Definition) content() content {
	switch {
	case d.HTTP != nil:
		return d.HTTP
	case d.StorageQueue != nil:
		return d.StorageQueue
	case d.ServiceBus != nil && d.Type == TypeServiceBusTopic:
		return busEntity{d.ServiceBus, "topic"}
	case d.ServiceBus != nil:
		return busEntity{d.ServiceBus, "queue"}
	case d.Process != nil:
		return d.Process
	case d.Drift != nil:
		return d.Drift
	}
	return nil
}

// BoundSecret is a secret that only some hosts may receive.
type BoundSecret struct {
	// Name is the NAME of $(secret.NAME).
	Name string
	// Hosts are patterns; package targets/outbound matches them.
	Hosts []string
}

// Callback means that a report from outside ends the action (invariant I12).
type Callback struct {
	// Timeout is the time limit for the report, counted from the action's acceptance. 0 means the
	// setting async_exec_timeout_seconds.
	Timeout time.Duration
	// StatusAccepted restricts waiting to the answer 202, as SAP does. Otherwise, every answer that
	// counts as a success waits.
	StatusAccepted bool
}

// HTTP is a request. Every text may contain templates $(name); see Expand.
type HTTP struct {
	// Method is in upper case.
	Method string
	// URL is absolute. Endpoints, if any, replaces it: attempt k uses Endpoints[(k-1) mod n].
	URL       string
	Endpoints []string
	// Headers are in the order of the definition.
	Headers []Field
	// Body is empty for no body. BodyJSON means that the body was given as a JSON value, and
	// BodyBase64 that it was given as base64: such a body contains no templates.
	Body       []byte
	BodyJSON   bool
	BodyBase64 bool
	// Payload sends the run's parameters. Expand puts them into the URL or the body, and clears it.
	Payload PayloadPlace
	// Success decides which answers are successes.
	Success Success
	// FollowRedirects is the maximum number of redirects; 0 follows none.
	FollowRedirects int
	// AllowHTTP permits plain http.
	AllowHTTP bool
	// ResponseTimeout bounds the time until the end of the response's headers. Decode sets the
	// default of the preset.
	ResponseTimeout time.Duration
	// CaptureHeaders are names of response headers that are kept in addition to the usual ones.
	CaptureHeaders []string
	// Auth is nil if the step's credential authenticates, or the request has no authentication.
	Auth *Auth

	headersObject bool // the text has an object for Headers
}

// PayloadPlace is the part of a request that carries the run's parameters.
type PayloadPlace string

const (
	// PayloadQuery appends the top-level members to the query of the URL (S-49).
	PayloadQuery PayloadPlace = "query"
	// PayloadBody makes them the body, {} for a run without parameters (S-50).
	PayloadBody PayloadPlace = "body"
)

// Field is a name with a value.
type Field struct{ Name, Value string }

// Preset is a named rule of success.
type Preset string

const (
	// PresetWebhook takes 200 to 299 as success. It is the default.
	PresetWebhook Preset = "webhook"
	// PresetAzure takes 200 to 299 as success, 202 included (D-A18).
	PresetAzure Preset = "azure"
	// PresetSAP takes 200 to 399 as success; 202 waits for a report.
	PresetSAP Preset = "sap"
)

// Success decides which answers are successes.
type Success struct {
	// Preset is empty when Ranges are given.
	Preset Preset
	// Ranges are inclusive.
	Ranges []StatusRange
	// BodyMatches must match the captured part of the body, and BodyFailsOn must not (RE2); empty
	// means no condition.
	BodyMatches string
	BodyFailsOn string
}

// StatusRange is a range of status codes, both ends included.
type StatusRange struct{ From, To int }

// Auth is the authentication of a request that the definition itself holds. Secrets in it are
// templates $(secret.name), never clear text.
type Auth struct {
	// Kind is basic, api-key, bearer, oauth2-client-credentials, client-certificate or
	// standard-webhooks.
	Kind string
	// Username and Password belong to basic.
	Username, Password string
	// Header (default X-API-Key) and Value belong to api-key; Value is the token of bearer.
	Header, Value string
	// TokenURL, ClientID, ClientSecret, Scope and Audience belong to oauth2-client-credentials.
	TokenURL, ClientID, ClientSecret, Scope, Audience string
	// Certificate is a PEM bundle of certificates and key, of client-certificate.
	Certificate string
	// Keys are the secrets of standard-webhooks, newest first.
	Keys []string
}
