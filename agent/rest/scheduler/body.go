package scheduler

import (
	"encoding/json"
	"reflect"

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
	StartTime  string          `json:"startTime,omitempty" format:"date-time"`
	Action     *action         `json:"action,omitempty"`
	Recurrence json.RawMessage `json:"recurrence,omitempty"`
	State      string          `json:"state,omitempty" enum:"enabled disabled faulted completed"`
	Status     *status         `json:"status,omitempty"`
}

// OpenAPIMembers returns the types of the members that are read and written by the engine of
// schedules, for the OpenAPI document.
func (jobProperties) OpenAPIMembers() map[string]reflect.Type {
	return map[string]reflect.Type{"recurrence": reflect.TypeFor[recurrence]()}
}

// recurrence is a recurrence as answers have it.
type recurrence struct {
	Frequency string              `json:"frequency" enum:"minute hour day week month year"`
	Interval  int                 `json:"interval"`
	Count     int                 `json:"count"`
	EndTime   string              `json:"endTime" format:"date-time"`
	Schedule  *recurrenceSchedule `json:"schedule"`
}

type recurrenceSchedule struct {
	Minutes     []int               `json:"minutes"`
	Hours       []int               `json:"hours"`
	WeekDays    []string            `json:"weekDays" enum:"Monday Tuesday Wednesday Thursday Friday Saturday Sunday"`
	MonthDays   []int               `json:"monthDays"`
	Occurrences []monthlyOccurrence `json:"monthlyOccurrences"`
}

type monthlyOccurrence struct {
	Day        string `json:"day" enum:"Monday Tuesday Wednesday Thursday Friday Saturday Sunday"`
	Occurrence int    `json:"Occurrence"`
}

// status is what has become of a job. It is never part of a request.
type status struct {
	LastExecutionTime string `json:"lastExecutionTime,omitempty" format:"date-time"`
	NextExecutionTime string `json:"nextExecutionTime,omitempty" format:"date-time"`
	ExecutionCount    int64  `json:"executionCount"`
	FailureCount      int64  `json:"failureCount"`
	FaultedCount      int64  `json:"faultedCount"`
}

// action is an action or an error action; an error action has no error action.
type action struct {
	Type                   string        `json:"type,omitempty" enum:"Http Https StorageQueue ServiceBusQueue ServiceBusTopic"`
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
	Type     string             `json:"type,omitempty" enum:"NotSpecified ClientCertificate Basic ActiveDirectoryOAuth"`
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
	TransportType    string             `json:"transportType,omitempty" enum:"notSpecified netMessaging amqp"`
	QueueName        string             `json:"queueName,omitempty"`
	TopicPath        string             `json:"topicPath,omitempty"`
}

// busAuthentication is a shared access key. SASKey is never part of an answer.
type busAuthentication struct {
	SASKey     body.Field[string] `json:"sasKey,omitzero"`
	SASKeyName string             `json:"sasKeyName,omitempty"`
	Type       string             `json:"type,omitempty" enum:"notSpecified sharedAccessKey"`
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
	RetryType     string `json:"retryType,omitempty" enum:"none fixed"`
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
	StartTime    string `json:"startTime" format:"date-time"`
	EndTime      string `json:"endTime" format:"date-time"`
	ExpectedTime string `json:"expectedExecutionTime" format:"date-time"`
	ActionName   string `json:"actionName" enum:"MainAction ErrorAction"`
	Status       string `json:"status" enum:"Completed Failed Postponed"`
	Message      string `json:"message"`
	RetryCount   int    `json:"retryCount"`
	RepeatCount  int64  `json:"repeatCount"`
}
