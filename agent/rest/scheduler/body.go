package scheduler

import (
	"encoding/json"

	"github.com/jobagent/jobagent/agent/rest/internal/body"
)

// job is a job of a job collection.
type job struct {
	ID         string        `json:"id,omitempty"`
	Type       string        `json:"type,omitempty"`
	Name       string        `json:"name,omitempty"`
	Properties jobProperties `json:"properties"`
}

type jobProperties struct {
	StartTime  string          `json:"startTime,omitempty"`
	Action     *action         `json:"action,omitempty"`
	Recurrence json.RawMessage `json:"recurrence,omitempty"`
	State      string          `json:"state,omitempty"`
	Status     *status         `json:"status,omitempty"`
}

// status is what has become of a job. It is never part of a request.
type status struct {
	LastExecutionTime string `json:"lastExecutionTime,omitempty"`
	NextExecutionTime string `json:"nextExecutionTime,omitempty"`
	ExecutionCount    int64  `json:"executionCount"`
	FailureCount      int64  `json:"failureCount"`
	FaultedCount      int64  `json:"faultedCount"`
}

// action is an action or an error action; an error action has no error action.
type action struct {
	Type                   string        `json:"type,omitempty"`
	Request                *request      `json:"request,omitempty"`
	QueueMessage           *queueMessage `json:"queueMessage,omitempty"`
	ServiceBusQueueMessage *busMessage   `json:"serviceBusQueueMessage,omitempty"`
	ServiceBusTopicMessage *busMessage   `json:"serviceBusTopicMessage,omitempty"`
	RetryPolicy            *retryPolicy  `json:"retryPolicy,omitempty"`
	ErrorAction            *action       `json:"errorAction,omitempty"`
}

// request is an HTTP request.
type request struct {
	Authentication *authentication   `json:"authentication,omitempty"`
	URI            string            `json:"uri,omitempty"`
	Method         string            `json:"method,omitempty"`
	Body           string            `json:"body,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
}

// authentication is that of a request. Password, PFX and Secret are never part of an answer.
type authentication struct {
	Type     string             `json:"type,omitempty"`
	Username string             `json:"username,omitempty"`
	Password body.Field[string] `json:"password,omitzero"`
	PFX      body.Field[string] `json:"pfx,omitzero"`

	Thumbprint     string `json:"certificateThumbprint,omitempty"`
	Subject        string `json:"certificateSubjectName,omitempty"`
	ExpirationDate string `json:"certificateExpirationDate,omitempty"`
	Expiration     string `json:"certificateExpiration,omitempty"`

	Tenant   string             `json:"tenant,omitempty"`
	Audience string             `json:"audience,omitempty"`
	ClientID string             `json:"clientId,omitempty"`
	Secret   body.Field[string] `json:"secret,omitzero"`
}

// queueMessage is a message for a Storage queue. SASToken is never part of an answer.
type queueMessage struct {
	StorageAccount string             `json:"storageAccount,omitempty"`
	QueueName      string             `json:"queueName,omitempty"`
	SASToken       body.Field[string] `json:"sasToken,omitzero"`
	Message        string             `json:"message,omitempty"`
}

// busMessage is a message for Service Bus; QueueName belongs to queues, TopicPath to topics.
type busMessage struct {
	Authentication   *busAuthentication `json:"authentication,omitempty"`
	BrokerProperties *brokerProperties  `json:"brokeredMessageProperties,omitempty"`
	CustomProperties map[string]string  `json:"customMessageProperties,omitempty"`
	Message          string             `json:"message,omitempty"`
	Namespace        string             `json:"namespace,omitempty"`
	TransportType    string             `json:"transportType,omitempty"`
	QueueName        string             `json:"queueName,omitempty"`
	TopicPath        string             `json:"topicPath,omitempty"`
}

// busAuthentication is a shared access key. SASKey is never part of an answer.
type busAuthentication struct {
	SASKey     body.Field[string] `json:"sasKey,omitzero"`
	SASKeyName string             `json:"sasKeyName,omitempty"`
	Type       string             `json:"type,omitempty"`
}

type brokerProperties struct {
	ContentType             string `json:"contentType,omitempty"`
	CorrelationID           string `json:"correlationId,omitempty"`
	ForcePersistence        *bool  `json:"forcePersistence,omitempty"`
	Label                   string `json:"label,omitempty"`
	MessageID               string `json:"messageId,omitempty"`
	PartitionKey            string `json:"partitionKey,omitempty"`
	ReplyTo                 string `json:"replyTo,omitempty"`
	ReplyToSessionID        string `json:"replyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC string `json:"scheduledEnqueueTimeUtc,omitempty"`
	SessionID               string `json:"sessionId,omitempty"`
	TimeToLive              string `json:"timeToLive,omitempty"`
	To                      string `json:"to,omitempty"`
	ViaPartitionKey         string `json:"viaPartitionKey,omitempty"`
}

type retryPolicy struct {
	RetryType     string `json:"retryType,omitempty"`
	RetryInterval string `json:"retryInterval,omitempty"`
	RetryCount    *int   `json:"retryCount,omitempty"`
}

// record is a record of a history.
type record struct {
	ID         string           `json:"id"`
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Properties recordProperties `json:"properties"`
}

type recordProperties struct {
	StartTime    string `json:"startTime"`
	EndTime      string `json:"endTime"`
	ExpectedTime string `json:"expectedExecutionTime"`
	ActionName   string `json:"actionName"`
	Status       string `json:"status"`
	Message      string `json:"message"`
	RetryCount   int    `json:"retryCount"`
	RepeatCount  int64  `json:"repeatCount"`
}
