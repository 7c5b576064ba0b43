// Package queue puts messages on queues: Azure Storage queues, and queues and topics of Azure
// Service Bus. [Runner.Run] makes one attempt of one message.
//
// A Storage queue is written by its REST interface, Service Bus by HTTPS or by AMQP 1.0, as the
// definition of the action says. DESIGN.md has the protocol of an attempt and the tables of
// answers.
//
// Common mistakes:
//
//   - To assume that an attempt that ended with an error put no message on the queue.
//     [targets.Unknown] means that the message may be there. Service Bus drops a second one if the
//     queue detects duplicates, because the MessageId is the same in every attempt. A Storage queue
//     cannot.
//   - To print a URL of a Storage queue. Its query contains the signature.
package queue
