<<<<<<<< HEAD:hub/console/dist/assets/TextInput-DihoMcX-.js
import{d as e,h as t}from"./i18n-CXb-vYDZ.js";import{t as n}from"./InputBase-B-HPsuUO.js";import{Q as r}from"./libraries-9xWEZvAX.js";var i=r(),a=e(e=>{let r=t([`Input`,`InputWrapper`,`TextInput`],null,e);return(0,i.jsx)(n,{component:`input`,...r,__staticSelector:`TextInput`})});a.classes=n.classes,a.displayName=`@mantine/core/TextInput`;export{a as t};
========
import{d as e,h as t}from"./i18n-Bk-sfVC3.js";import{t as n}from"./InputBase-DXZjPWf7.js";import{Q as r}from"./libraries-9xWEZvAX.js";var i=r(),a=e(e=>{let r=t([`Input`,`InputWrapper`,`TextInput`],null,e);return(0,i.jsx)(n,{component:`input`,...r,__staticSelector:`TextInput`})});a.classes=n.classes,a.displayName=`@mantine/core/TextInput`;export{a as t};
>>>>>>>> main:hub/console/dist/assets/TextInput-BD5MMe67.js
