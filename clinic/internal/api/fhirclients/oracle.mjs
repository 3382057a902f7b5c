// Compares searches of the facade with an oracle: FHIRPath evaluates the expressions of R4's
// search parameters on what the facade sends, and the rules of
// http://hl7.org/fhir/R4/search.html decide what matches.
//
// stdin: {base, headers, definitions, offset, now, cpfs, systems, erased, searches}. stdout:
// {searches, differences, matched}: how many searches were compared, those that differ, and
// how many matched some resources and not all.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const require = createRequire(join(process.env.FHIR_MODULES, 'x'))
const fhirpath = require('fhirpath')
const model = require('fhirpath/fhir-context/r4')

const input = JSON.parse(await text(process.stdin))
const definitions = JSON.parse(readFileSync(input.definitions, 'utf8'))
const types = ['Patient', 'Appointment', 'Encounter', 'DocumentReference', 'Communication']

async function get(address) {
	const response = await fetch(address.startsWith('http') ? address : `${input.base}/${address}`, { headers: input.headers })
	return { status: response.status, body: await response.json() }
}

// search returns the matches and the included resources of all pages.
async function search(address) {
	const found = { matches: [], included: new Set() }
	while (address) {
		const { status, body } = await get(address)
		if (status !== 200) throw new Error(`${address}: ${status} ${JSON.stringify(body)}`)
		for (const entry of body.entry ?? []) {
			if (entry.search.mode === 'match') found.matches.push(entry.resource)
			else if (entry.search.mode === 'include') found.included.add(`${entry.resource.resourceType}/${entry.resource.id}`)
			else throw new Error(`${address}: ${JSON.stringify(entry.resource)}`)
		}
		found.total = body.total
		address = body.link.find((link) => link.relation === 'next')?.url
	}
	return found
}

const resources = {}
for (const type of types) {
	resources[type] = (await search(`${type}?_count=7`)).matches
	for (const patient of type === 'Patient' ? resources.Patient : []) {
		// The facade masks a CPF, and takes several systems for the same.
		if (patient.identifier) patient.identifier = input.systems.map((system) => ({ system, value: input.cpfs[patient.id] }))
	}
}

// Parameters that are not R4's have the definition of one that is.
const aliases = { 'Appointment.subject': 'patient', 'Communication.date': 'sent' }

function definition(type, name) {
	const [kind, expression] = definitions[type].params[aliases[`${type}.${name}`] ?? name]
	return { kind, expression: expression.replace(/where\(resolve\(\) is (\w+)\)/, "where(reference.startsWith('$1/'))") }
}

const compiled = new Map()
function evaluate(resource, expression) {
	if (!compiled.has(expression)) compiled.set(expression, fhirpath.compile(expression, model))
	return compiled.get(expression)(resource)
}

// nodes returns what a parameter searches. The clinic has names as one text: its first word is
// the given name. The date of an encounter is when it began.
function nodes(resource, name) {
	if (name === 'given' || name === 'family') {
		const words = evaluate(resource, 'Patient.name.text').flatMap((value) => value.split(/[^\p{L}\p{N}]+/u).filter(Boolean))
		return name === 'given' ? words.slice(0, 1) : words.slice(1)
	}
	const { expression } = definition(resource.resourceType, name)
	if (expression === 'Encounter.period') return evaluate(resource, 'Encounter.period.start')
	return evaluate(resource, expression).filter((node) => typeof node !== 'object' || Object.keys(node).some((key) => !key.startsWith('_') && key !== 'extension' && key !== 'use'))
}

const fold = (value) => value.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
const alternatives = (value) => value.split(/(?<!\\),/)
const unescape = (value) => value.replace(/\\([\\,|$])/g, '$1')

const codeSystems = {
	'Appointment.status': 'http://hl7.org/fhir/appointmentstatus', 'Encounter.status': 'http://hl7.org/fhir/encounter-status',
	'DocumentReference.status': 'http://hl7.org/fhir/document-reference-status', 'Communication.status': 'http://hl7.org/fhir/event-status',
	'Patient.active': 'http://terminology.hl7.org/CodeSystem/special-values',
}

// phone normalizes a number of Brazil: the country and the ninth digit may be missing.
const phone = (value) => {
	const digits = value.replace(/\D/g, '')
	const national = digits.length > 11 && digits.startsWith('55') ? digits.slice(2) : digits
	return national.replace(/^(\d\d)9([016-9]\d{7})$/, '$1$2')
}

function matchesToken(type, name, node, value) {
	const parts = value.split(/(?<!\\)\|/)
	const [system, code] = parts.length > 1 ? [unescape(parts[0]), unescape(parts[1])] : [undefined, unescape(value)]
	const token = typeof node === 'object' ? { system: node.system, code: node.value } : { system: codeSystems[`${type}.${name}`], code: String(node) }
	if (system !== undefined && system !== (token.system ?? '') && !(system === '' && typeof node !== 'object')) return false
	if (code === '') return system !== undefined
	if (token.system === 'phone') return !code.includes('@') && phone(code) === phone(token.code)
	if (token.system === 'email') return code.toLowerCase() === token.code.toLowerCase()
	if (name === 'identifier') return code.replace(/\D/g, '') === token.code
	return code === token.code
}

// span returns the milliseconds from which and before which a date or a time lies.
function span(value, offset) {
	const [year, month, day] = value.split('T')[0].split('-').map(Number)
	if (!value.includes('T')) {
		const end = day ? Date.UTC(year, month - 1, day + 1) : month ? Date.UTC(year, month) : Date.UTC(year + 1, 0)
		return [Date.UTC(year, (month ?? 1) - 1, day ?? 1) - offset, end - offset]
	}
	const zoned = /Z|[+-]\d\d:\d\d$/.test(value)
	const start = Date.parse(zoned ? value : value + 'Z') - (zoned ? 0 : offset)
	const time = value.split('T')[1]
	return [start, start + (/\.\d/.test(time) ? 1 : /^\d\d:\d\d:\d\d/.test(time) ? 1000 : 60000)]
}

function matchesDate(name, node, value) {
	const [, prefix = 'eq', date] = value.match(/^([a-z]{2})?(.*)$/)
	const offset = name === 'birthdate' || name === '_lastUpdated' ? 0 : input.offset
	const [low, high] = span(date, offset)
	const [from, to] = span(String(node), offset)
	const contained = low <= from && to <= high
	switch (prefix) {
		case 'eq': return contained
		case 'ne': return !contained
		case 'gt': return to > high
		case 'ge': return to > high || contained
		case 'lt': return from < low
		case 'le': return from < low || contained
		case 'sa': return from >= high
		case 'eb': return to <= low
		case 'ap': {
			const margin = Math.max(0, input.now - high, low - input.now) / 10
			return from < high + margin && to > low - margin
		}
	}
}

function matchesString(name, node, value, modifier) {
	const wanted = unescape(value)
	const written = typeof node === 'object' ? node.text : node
	if (modifier === 'exact') return written === wanted
	const words = fold(written).split(/[^\p{L}\p{N}]+/u).filter(Boolean)
	const wantedWords = fold(wanted).split(/[^\p{L}\p{N}]+/u).filter(Boolean)
	return wantedWords.length > 0 && wantedWords.every((part) => words.some((word) => word.startsWith(part)))
}

const matchesReference = (node, value, target) =>
	[value, `${target}/${value}`].includes(node.reference) || value === `${input.base}/${node.reference}`

function matches(resource, name, modifier, value) {
	const type = resource.resourceType
	const found = nodes(resource, name)
	if (modifier === 'missing') return (found.length === 0) === (value === 'true')
	const { kind } = definition(type, name)
	const any = alternatives(value).some((alternative) => found.some((node) => {
		switch (kind) {
			case 'token': return matchesToken(type, name, node, alternative)
			case 'date': return matchesDate(name, node, alternative)
			case 'string': return matchesString(name, node, alternative, modifier)
			default: return matchesReference(node, alternative, name === 'appointment' ? 'Appointment' : 'Patient')
		}
	}))
	return modifier === 'not' ? !any : any
}

// Erased patients are sorted by the text that replaces their names in the database.
const sortValues = {
	_id: (resource) => resource.id, _lastUpdated: (resource) => resource.meta.lastUpdated, birthdate: (resource) => resource.birthDate,
	name: (resource) => fold(resource.name[0].text ?? input.erased),
}
const sortValue = (resource, name) => (sortValues[name] ?? (() => nodes(resource, name)[0]))(resource)

function compare(a, b, sort) {
	for (const term of sort.split(',')) {
		const [name, sign] = term.startsWith('-') ? [term.slice(1), -1] : [term, 1]
		const [x, y] = [sortValue(a, name), sortValue(b, name)]
		if (x === y) continue
		return (x === undefined ? 1 : y === undefined ? -1 : String(x) < String(y) ? -1 : 1) * sign
	}
	return a.id < b.id ? -1 : 1
}

// includes returns what _include and _revinclude add to matches, as Type/id.
function includes(type, found, params) {
	const all = new Set()
	for (const [name, value] of params) {
		const [source, param] = value.split(':')
		if (name === '_include') {
			const names = value === '*' ? Object.keys(definitions[type].params).filter((code) => definition(type, code).kind === 'reference') : [param]
			for (const resource of found) for (const code of names) for (const node of nodes(resource, code)) if (node.reference) all.add(node.reference)
		}
		if (name === '_revinclude') {
			const ids = new Set(found.map((resource) => `${type}/${resource.id}`))
			for (const resource of resources[source]) if (nodes(resource, param).some((node) => ids.has(node.reference))) all.add(`${source}/${resource.id}`)
		}
	}
	return all
}

function expected(type, params) {
	let found = resources[type]
	let sort = '_id'
	for (const [key, value] of params) {
		const [name, modifier] = key.split(':')
		if (name === '_sort') sort = value
		else if (!['_include', '_revinclude', '_count'].includes(name)) found = found.filter((resource) => matches(resource, name, modifier, value))
	}
	found = [...found].sort((a, b) => compare(a, b, sort))
	return { ids: found.map((resource) => resource.id), included: includes(type, found, params) }
}

// derived makes searches of every parameter that the facade declares: from what it searches in
// the resources, in all forms that R4 has for its type.
function derived(type, param) {
	const values = new Set()
	const modifiers = []
	for (const resource of resources[type].slice(0, 6)) {
		for (const node of nodes(resource, param.name)) {
			const value = typeof node === 'object' ? node : String(node)
			switch (param.type) {
				case 'date':
					for (const prefix of ['', 'eq', 'ne', 'gt', 'ge', 'lt', 'le', 'sa', 'eb', 'ap'])
						for (const part of new Set([4, 7, 10, param.name === 'birthdate' ? 10 : 24])) values.add(prefix + value.slice(0, part))
					break
				case 'token': {
					const [system, code] = typeof node === 'object' ? [node.system, node.value] : [codeSystems[`${type}.${param.name}`] ?? '', value]
					for (const form of [code, `${system}|${code}`, `|${code}`, `${system}|`, `urn:x|${code}`, `urn:x|`]) if (form !== '|') values.add(form)
					break
				}
				case 'string': {
					const written = typeof node === 'object' ? node.text : value
					for (const form of [written, fold(written), written.toUpperCase(), written.slice(0, 3), written.slice(1), written.split(' ').at(-1)]) if (form) values.add(form.replace(/[\\,|$]/g, '\\$&'))
					break
				}
				default:
					if (node.reference) for (const form of [node.reference, node.reference.split('/')[1], `${input.base}/${node.reference}`, `Group/${node.reference.split('/')[1]}`]) values.add(form)
			}
		}
	}
	if (param.type === 'token' && param.name !== '_id') modifiers.push('missing', 'not')
	else if (param.name === '_id') modifiers.push('not')
	else if (!param.name.startsWith('_')) modifiers.push('missing')
	if (param.name === 'name') modifiers.push('exact')
	const searches = [...values].map((value) => [[param.name, value]])
	const list = [...values].slice(0, 3)
	if (list.length > 1) searches.push([[param.name, list.slice(0, 2).join(',')]], list.map((value) => [param.name, value]))
	for (const modifier of modifiers) {
		const chosen = modifier === 'missing' ? ['true', 'false'] : [...values]
		searches.push(...chosen.map((value) => [[`${param.name}:${modifier}`, value]]))
	}
	return searches
}

const { body: statement } = await get('metadata')
const all = []
for (const { type, searchParam, searchInclude, searchRevInclude } of statement.rest[0].resource) {
	for (const param of searchParam) for (const params of derived(type, param)) all.push([type, params])
	for (const [name, values] of [['_include', searchInclude], ['_revinclude', searchRevInclude]]) for (const value of values ?? []) all.push([type, [[name, value]]])
}
for (const { type, query } of input.searches) all.push([type, [...new URLSearchParams(query)]])

const differences = []
let matched = 0
for (const [type, params] of all) {
	const want = expected(type, params)
	const query = `${type}?${new URLSearchParams(params)}`
	const got = await search(query)
	const ids = got.matches.map((resource) => resource.id)
	if (ids.length > 0 && ids.length < resources[type].length) matched++
	const total = got.total === want.ids.length
	if (JSON.stringify(ids) !== JSON.stringify(want.ids) || !total || got.included.size !== want.included.size || [...want.included].some((one) => !got.included.has(one)))
		differences.push({ query: decodeURIComponent(query), want: [...want.ids, ...want.included], got: [...ids, ...got.included], total: got.total })
}

// _summary=true has the elements that R4 counts to the summary, and mandatory ones.
for (const type of types) {
	const { summary, mandatory } = definitions[type]
	const allowed = ['resourceType', ...summary, ...mandatory]
	const shown = await search(`${type}?_summary=true`)
	for (const [i, whole] of resources[type].entries()) {
		const keys = Object.keys(shown.matches[i])
		const want = Object.keys(whole).filter((key) => allowed.includes(key.replace(/^_/, '')))
		const data = (shown.matches[i].content ?? []).flatMap((content) => Object.keys(content.attachment)).filter((key) => !definitions.Attachment.summary.includes(key))
		if (keys.sort().join() !== want.sort().join() || data.length > 0) differences.push({ query: `${type}?_summary=true`, want, got: [...keys, ...data] })
	}
}
console.log(JSON.stringify({ searches: all.length, matched, differences }))
