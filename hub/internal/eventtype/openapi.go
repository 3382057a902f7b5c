package eventtype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"integrationhub/hub"
)

// Product is whose webhooks a document describes.
type Product struct{ Name, Title string }

// object is a JSON object of the document.
type object = map[string]any

// WebhooksDocument returns an OpenAPI 3.1 document with the webhooks of a product: for each
// type the envelope, the data and the headers of the signatures. Receivers generate their
// types from it.
func WebhooksDocument(product Product, types []Type) ([]byte, error) {
	webhooks, schemas := make(object, len(types)), make(object, 2*len(types))
	for _, t := range types {
		data, err := dataSchema(t)
		if err != nil {
			return nil, err
		}
		schemas[dataName(t)], schemas[eventName(t)] = data, envelopeSchema(t)
		webhooks[t.Name] = object{"post": webhook(t)}
	}
	document, err := json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": dialect,
		"info": object{
			"title": "Webhooks of " + product.Title, "version": "1",
			"description": "What endpoints that subscribed to events of " + product.Name + " receive. Receivers ignore members they do not know, verify a signature, and respond with any status from 200 to 299.",
		},
		"tags":     []object{{"name": product.Name, "description": "Events of " + product.Title}},
		"security": []object{},
		"servers":  []object{{"url": "https://receiver.example.org", "description": "Your endpoint"}},
		"webhooks": webhooks,
		"components": object{
			"schemas": schemas, "parameters": headerParameters(),
			"responses": object{"Taken": object{"description": "The receiver took the event"}, "Refused": object{"description": "The receiver did not take it: the hub tries again, later. 410 disables the endpoint."}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the document: %w", err)
	}
	return document, nil
}

func eventName(t Type) string { return "event." + t.Name }

func dataName(t Type) string { return "data." + t.Name }

func schemaPath(name string) string { return "#/components/schemas/" + name }

func webhook(t Type) object {
	description := t.Description
	if description == "" {
		description = "An event of the type " + t.Name + "."
	}
	content := object{"schema": object{"$ref": schemaPath(eventName(t))}}
	if t.Example != nil {
		content["example"] = json.RawMessage(hub.AppendEnvelope(nil, hub.Event{
			ID: "evt_0123456789abcdef", Product: t.Product, Type: t.Name, Time: exampleTime, Data: t.Example,
		}))
	}
	parameters := make([]object, len(signatureHeaders))
	for i, header := range signatureHeaders {
		parameters[i] = object{"$ref": "#/components/parameters/" + header.name}
	}
	operation := object{
		"operationId": t.Name, "tags": []string{t.Product}, "summary": t.Name, "description": description, "parameters": parameters,
		"requestBody": object{"required": true, "content": object{"application/json": content}},
		"responses":   object{"200": object{"$ref": "#/components/responses/Taken"}, "4XX": object{"$ref": "#/components/responses/Refused"}},
	}
	if t.Deprecated {
		operation["deprecated"] = true
	}
	return operation
}

func envelopeSchema(t Type) object {
	return object{
		"type":        "object",
		"description": "The envelope of " + t.Name + ".",
		"required":    []string{"id", "product", "event_type", "timestamp", "data"},
		"properties": object{
			"id":             object{"type": "string", "pattern": "^evt_[0-9a-f]{16}$", "description": "Id of the event. A repeated delivery has the same."},
			"product":        object{"type": "string", "const": t.Product, "description": "The sending product"},
			"event_type":     object{"type": "string", "const": t.Name, "description": "What happened"},
			"timestamp":      object{"type": "string", "format": "date-time", "description": "When it happened, in UTC"},
			"correlation_id": object{"type": "string", "maxLength": 200, "description": "Of the publisher, if it gave one"},
			"data":           object{"$ref": schemaPath(dataName(t))},
		},
	}
}

// signatureHeaders are the headers of a webhook.
var signatureHeaders = []struct{ name, description, example string }{
	{hub.HeaderSignature, "sha256= and the hexadecimal HMAC-SHA256 of the body with the endpoint's secret", "sha256=4f0c…"},
	{hub.HeaderStdID, "Standard Webhooks: the event's id. Not sent where the secret is a plain one.", "evt_0123456789abcdef"},
	{hub.HeaderStdTimestamp, "Standard Webhooks: Unix seconds of the attempt", "1772452800"},
	{hub.HeaderStdSignature, "Standard Webhooks: v1, and the Base64 of the HMAC-SHA256 of id, timestamp and body; two of them during a rotation", "v1,K5oZ…"},
}

func headerParameters() object {
	parameters := make(object, len(signatureHeaders))
	for _, header := range signatureHeaders {
		parameters[header.name] = object{
			"name": header.name, "in": "header", "required": header.name == hub.HeaderSignature, "description": header.description,
			"schema": object{"type": "string"}, "example": header.example,
		}
	}
	return parameters
}

// dataSchema returns the schema of a type's data with references relative to the document.
func dataSchema(t Type) (any, error) {
	if t.Schema == nil {
		return object{"type": "object", "description": "Data of " + t.Name + "; its members are not described."}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(t.Schema))
	decoder.UseNumber()
	var schema object
	if err := decoder.Decode(&schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", t.Name, err)
	}
	delete(schema, "$schema")
	delete(schema, "$id")
	moveReferences(schema, schemaPath(dataName(t)))
	return schema, nil
}

// moveReferences makes references of a schema relative to its place in a document.
func moveReferences(schema any, place string) {
	switch s := schema.(type) {
	case []any:
		for _, item := range s {
			moveReferences(item, place)
		}
	case object:
		if reference, ok := s["$ref"].(string); ok && (reference == "#" || strings.HasPrefix(reference, "#/")) {
			s["$ref"] = place + reference[1:]
		}
		for keyword, value := range s {
			switch keyword {
			case "const", "enum", "default", "examples", "required", "dependentRequired":
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				if named, ok := value.(object); ok {
					for _, member := range named {
						moveReferences(member, place)
					}
				}
			default:
				moveReferences(value, place)
			}
		}
	}
}
