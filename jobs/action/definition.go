package action

import "time"

// Type is the type of a step's command: the parameter @command_type of jobs.sp_add_jobstep.
type Type string

const (
	// TypeTSQL is a T-SQL script. It is no action, and has no Definition.
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
)

// Info describes a type of commands.
type Info struct {
	Type Type
	// Member is the member of a step that has the definition, in the files of jobagent apply.
	Member string
	// Flag is the flag of jobagent step that chooses the type, without dashes; empty for T-SQL.
	Flag string
	// Does says what a step of the type does.
	Does string
	// Notifies says that an alert channel may be of the type.
	Notifies bool
}

// infos has the types in the order in which people see them.
var infos = []Info{
	{Type: TypeTSQL, Member: "command", Does: "runs a script"},
	{Type: TypeHTTP, Member: "http", Flag: "http", Does: "calls an HTTP endpoint", Notifies: true},
	{Type: TypeStorageQueue, Member: "storage_queue", Flag: "storage-queue", Does: "puts a message on a queue", Notifies: true},
	{Type: TypeServiceBusQueue, Member: "service_bus_queue", Flag: "service-bus-queue", Does: "sends a message to a queue", Notifies: true},
	{Type: TypeServiceBusTopic, Member: "service_bus_topic", Flag: "service-bus-topic", Does: "sends a message to a topic", Notifies: true},
	{Type: TypeProcess, Member: "process", Flag: "process", Does: "runs a process of the agent's machine"},
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

// OfFlag returns the type that a flag of jobagent step chooses; empty for another flag.
func OfFlag(flag string) Type {
	for _, i := range Actions() {
		if i.Flag == flag {
			return i.Type
		}
	}
	return ""
}

// ChannelTypes returns the types of alert channels: the actions that notify, and those that only
// channels have.
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

// Definition is a decoded action. Exactly one of HTTP, StorageQueue, ServiceBus and Process is set;
// it agrees with Type.
type Definition struct {
	Type         Type
	HTTP         *HTTP
	StorageQueue *StorageQueue
	ServiceBus   *ServiceBus
	Process      *Process
	// Callback is nil unless the action ends by a report from outside.
	Callback *Callback
	// Secrets are the clear texts of the secrets that Expand inserted; runners mask them in
	// everything that they return. Empty in a definition that is not expanded.
	Secrets []string
	// Bound are the secrets that Expand inserted and that only some hosts may receive.
	Bound []BoundSecret
}

// BoundSecret is a secret that only some hosts may receive.
type BoundSecret struct {
	// Name is the NAME of $(secret.NAME).
	Name string
	// Hosts are patterns; package targets/outbound matches them.
	Hosts []string
}

// Callback says that a report from outside ends the action (invariant I12).
type Callback struct {
	// Timeout is the time that the report has, counted from the action's acceptance. 0 means the
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
	// Body is empty for none. BodyJSON says that the body was given as a JSON value, and BodyBase64
	// that it was given as base64: such a body contains no templates.
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
	// CaptureHeaders are names of response headers that are kept beside the usual ones.
	CaptureHeaders []string
	// Auth is nil when the step's credential authenticates, or nothing does.
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
	// Envelope wraps the text as Azure Scheduler did; see EnvelopeAzureScheduler.
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

// ServiceBus is a message for a queue or topic of Azure Service Bus.
type ServiceBus struct {
	// Namespace is a name, or a host.
	Namespace string
	// Entity is the path of the queue or topic.
	Entity  string
	Message string
	// ContentType is the message's; empty for none.
	ContentType string
	// AMQP sends by AMQP 1.0 instead of HTTPS.
	AMQP bool
	// KeyName and Key are the name and the value of a shared access key; Key is a template
	// $(secret.name). Both are empty when the step's credential authorizes.
	KeyName, Key string
	// Properties are the application's, with values of type string, bool, int64 or float64.
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

// Process runs an entry of the agent's configuration.
type Process struct {
	// Entry is the name of the entry.
	Entry string
	Args  []string
	// Input is the standard input.
	Input string
	// SuccessCodes are the exit codes that count as success; empty means 0 alone.
	SuccessCodes []int
	// MaxMemory in bytes lowers the entry's limit; 0 keeps it.
	MaxMemory int64
	// OutputLimit in bytes bounds stdout and stderr together; 0 means 10 MiB. OutputHalt ends the
	// process when it is exceeded; otherwise the rest is dropped.
	OutputLimit int64
	OutputHalt  bool
}
