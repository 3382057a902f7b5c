<<<<<<<< HEAD:hub/console/dist/assets/errors-dU02J74C.js
import{tt as e}from"./index-CEbaJbhj.js";var t=t=>t instanceof e?t.problem?.errors?.map(e=>`${e.location.replace(/^body\./,``)} ${e.message}`).join(`; `)||t.problem?.detail||t.message:String(t);export{t};
========
import{tt as e}from"./index-nmyEC6I1.js";var t=t=>t instanceof e?t.problem?.errors?.map(e=>`${e.location.replace(/^body\./,``)} ${e.message}`).join(`; `)||t.problem?.detail||t.message:String(t);export{t};
>>>>>>>> main:hub/console/dist/assets/errors-B0eXsArw.js
