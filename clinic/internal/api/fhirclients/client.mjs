// Uses the facade as fhir-kit-client does. stdin: {base, headers, patient, appointment}. stdout:
// what each call gave.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const require = createRequire(join(process.env.FHIR_MODULES, 'x'))
const Client = require('fhir-kit-client')

const { base, headers, patient, appointment } = JSON.parse(await text(process.stdin))
const client = new Client({ baseUrl: base, customHeaders: headers })
const ids = (bundle) => (bundle.entry ?? []).filter((entry) => entry.search.mode !== 'outcome').map((entry) => `${entry.resource.resourceType}/${entry.resource.id}`)
const failure = async (call) => {
	try {
		await call()
	} catch (error) {
		return { status: error.response.status, resourceType: error.response.data.resourceType, code: error.response.data.issue[0].code }
	}
}

const statement = await client.capabilityStatement()
const capabilities = new (require('fhir-kit-client').CapabilityTool)(statement)
const read = await client.read({ resourceType: 'Patient', id: patient })
const { response } = Client.httpFor(read)
const etag = response.headers.get('etag')
const unchanged = await fetch(`${base}/Patient/${patient}`, { headers: { ...headers, 'If-None-Match': etag } })

const first = await client.search({ resourceType: 'Appointment', searchParams: { patient, _count: 1, _sort: 'date', _include: 'Appointment:patient' } })
const second = await client.nextPage({ bundle: first })
const back = await client.prevPage({ bundle: second })
console.log(JSON.stringify({
	fhirVersion: statement.fhirVersion,
	canSearch: capabilities.resourceCan('Patient', 'search-type'),
	birthdate: capabilities.supportFor({ resourceType: 'Patient', capabilityType: 'searchParam', where: { name: 'birthdate' } }),
	name: read.name[0].text,
	etag,
	unchanged: unchanged.status,
	first: ids(first), second: ids(second), back: ids(back),
	byForm: ids(await client.search({ resourceType: 'Patient', searchParams: { telecom: 'edson@example.com' }, options: { postSearch: true } })),
	vread: ids(await client.search({ resourceType: 'Encounter', searchParams: { appointment: `Appointment/${appointment}` } })),
	compartment: ids(await client.search({ resourceType: 'Communication', searchParams: { subject: `Patient/${patient}` } })),
	resolved: (await client.resolve({ reference: `Patient/${patient}` })).id,
	everything: ids(await client.operation({ name: 'everything', resourceType: 'Patient', id: patient, method: 'GET' })).length,
	everythingByPost: ids(await client.operation({ name: 'everything', resourceType: 'Patient', id: patient, input: { resourceType: 'Parameters', parameter: [{ name: '_type', valueCode: 'Encounter' }] } })),
	missing: await failure(() => client.read({ resourceType: 'Patient', id: 'x' })),
	unknown: await failure(() => client.search({ resourceType: 'Observation' })),
	refused: await failure(() => client.delete({ resourceType: 'Patient', id: patient })),
}))
